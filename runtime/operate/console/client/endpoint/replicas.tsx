import { useState } from "preact/hooks";
import { agoText, bytesText, durationText, numberText } from "../../../../core/format.ts";
import type { EndpointView } from "../../../views/endpoint-view.ts";
import type { ReplicaView } from "../../../views/replica-view.ts";
import { usePicture } from "../live/console-context.ts";
import { LogBlock } from "../parts/log-text.tsx";
import { Empty } from "../parts/notice.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { hrefOf } from "../shell/route.ts";
import { ROW_ATTRIBUTE } from "../shell/use-shortcuts.ts";
import { lastExitText, progressText } from "./replica-text.ts";

/** The replicas of an endpoint, a row each; a row opens to its last log lines and what its engine says. */
export function Replicas({ endpoint }: { readonly endpoint: EndpointView }) {
  const { replicas, status } = endpoint;
  return (
    <section aria-labelledby="replicas-title">
      <h2 id="replicas-title">Replicas</h2>
      {replicas.length === 0 ? (
        <Empty title={status.word === "asleep" ? "Asleep: no replica runs" : "No replica"}>
          <p>{status.word === "asleep" ? "The first request starts one and waits for it." : status.reason}</p>
        </Empty>
      ) : (
        <table class="grid replicas">
          <caption class="unseen">Replicas with state, load and resources</caption>
          <thead>
            <tr>
              <th scope="col">Replica</th>
              <th scope="col" class="c-phase">
                State
              </th>
              <th scope="col" class="num c-number">
                In flight
              </th>
              <th scope="col" class="num c-number">
                CPU
              </th>
              <th scope="col" class="num c-pair">
                Memory
              </th>
              <th scope="col" class="num c-pair" title="Age of the last answer or token">
                Progress
              </th>
              <th scope="col" class="num c-pair" title="From process start to ready">
                Started in
              </th>
              <th scope="col" class="num c-pair" title="Starts in a row that ended before it was ready">
                Failed starts
              </th>
            </tr>
          </thead>
          <tbody>
            {replicas.map((replica) => (
              <ReplicaRows key={replica.id} replica={replica} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const UNWELL: ReadonlySet<ReplicaView["word"]> = new Set(["crash-loop", "waiting", "stuck"]);

function ReplicaRows({ replica }: { readonly replica: ReplicaView }) {
  const { progress } = usePicture();
  // What is wrong with a replica stands in its last lines: they are shown until they are closed.
  const [chosen, setOpen] = useState<boolean | null>(null);
  const isOpen = chosen ?? UNWELL.has(replica.word);
  const { id, word, inFlight, cpuCores, residentBytes, startupMs, failedStarts, lastExit } = replica;
  const nowMs = Date.now();
  const detailId = `replica-${id}`;
  return (
    <>
      <tr class="opens" onClick={() => setOpen(!isOpen)}>
        <th scope="row">
          <button
            type="button"
            class="row-button"
            aria-expanded={isOpen}
            aria-controls={detailId}
            onClick={(event) => {
              event.stopPropagation();
              setOpen(!isOpen);
            }}
            {...{ [ROW_ATTRIBUTE]: "" }}
          >
            <code>{id}</code>
          </button>
        </th>
        <td>
          <StatusBadge word={word} />
          {failedStarts > 0 && lastExit !== null && <span class="under faint">{lastExitText(lastExit, nowMs)}</span>}
        </td>
        <td class="num">{numberText(inFlight)}</td>
        <td class="num">{cpuCores === null ? "-" : cpuCores.toFixed(2)}</td>
        <td class="num">{bytesText(residentBytes)}</td>
        <td class="num">{progressText(inFlight, progress.get(id), nowMs)}</td>
        <td class="num">{startupMs === null ? "-" : durationText(startupMs)}</td>
        <td class={`num ${failedStarts > 0 ? "bad-text" : ""}`}>{failedStarts}</td>
      </tr>
      {isOpen && (
        <tr class="detail" id={detailId}>
          <td colSpan={8}>
            <ReplicaDetail replica={replica} nowMs={nowMs} />
          </td>
        </tr>
      )}
    </>
  );
}

function ReplicaDetail({ replica, nowMs }: { readonly replica: ReplicaView; readonly nowMs: number }) {
  const { id, pid, epoch, address, startedAtMs, lastExit, lastLog, engine } = replica;
  const facts: readonly (readonly [string, string])[] = [
    ["process", pid === null ? "-" : String(pid)],
    ["start", epoch === null ? "-" : String(epoch)],
    ["address", address ?? "-"],
    ["started", agoText(startedAtMs, nowMs)],
    ["last exit", lastExitText(lastExit, nowMs)],
    ["answers", numberText(replica.progressTotal)],
    ...Object.entries(engine).map(([name, value]) => [name.replaceAll("_", " "), numberText(value)] as const),
  ];
  return (
    <>
      <dl class="facts">
        {facts.map(([term, text]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {lastLog.length === 0 ? (
        <p class="faint">
          Its last start left no log lines here. <a href={hrefOf({ page: "logs", source: id })}>Follow its log</a>
        </p>
      ) : (
        <>
          <LogBlock lines={lastLog} />
          <a href={hrefOf({ page: "logs", source: id })}>Follow its log</a>
        </>
      )}
    </>
  );
}
