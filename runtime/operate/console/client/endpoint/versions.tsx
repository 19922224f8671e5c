import { agoText, bytesText, durationText, latencyText, numberText } from "../../../../core/format.ts";
import type { EndpointView } from "../../../views/endpoint-view.ts";
import type { VersionView } from "../../../views/version-view.ts";
import { capacityOf } from "../endpoints/select.ts";
import { LogBlock } from "../parts/log-text.tsx";
import { Meter } from "../parts/meter.tsx";
import { Empty } from "../parts/notice.tsx";
import { SplitBar } from "../parts/split-bar.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";

/** The versions of an endpoint: how traffic is split over them, and each one's scale and load. */
export function Versions({ endpoint }: { readonly endpoint: EndpointView }) {
  const { versions, prepared } = endpoint;
  return (
    <section aria-labelledby="versions-title">
      <h2 id="versions-title">Versions</h2>
      {prepared?.kind === "working" && (
        <Preparation doing={prepared.doing} done={prepared.doneBytes} total={prepared.totalBytes} />
      )}
      {versions.length === 0 ? (
        <Empty title="No version yet">
          <p>
            {prepared?.kind === "failed"
              ? `${prepared.why} ${prepared.todo}`
              : "The first one appears once its artifact is prepared."}
          </p>
        </Empty>
      ) : (
        <>
          <SplitBar versions={versions} />
          <VersionTable versions={versions} />
          {versions.map((version) => version.failure !== null && <Failure key={version.id} version={version} />)}
        </>
      )}
    </section>
  );
}

function VersionTable({ versions }: { readonly versions: readonly VersionView[] }) {
  return (
    <table class="grid versions">
      <caption class="unseen">Versions with phase, share of traffic, scale and load</caption>
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col" class="c-phase">
            Phase
          </th>
          <th scope="col" class="num c-number">
            Traffic
          </th>
          <th scope="col" class="num c-number">
            QPS
          </th>
          <th scope="col" class="num c-latency">
            p50
          </th>
          <th scope="col" class="num c-latency">
            p99
          </th>
          <th scope="col" class="num c-meter">
            In flight / target
          </th>
          <th scope="col" class="num c-pair wide" title="Requests in flight that one replica should carry, learned">
            Per replica
          </th>
          <th scope="col" class="num c-pair">
            Ready / wanted
          </th>
          <th scope="col" class="num c-number wide">
            Cold starts
          </th>
        </tr>
      </thead>
      <tbody>
        {versions.map((version, index) => (
          <VersionRow key={version.id} version={version} tone={index % 4} />
        ))}
      </tbody>
    </table>
  );
}

function VersionRow({ version, tone }: { readonly version: VersionView; readonly tone: number }) {
  const { id, phase, weight, runtime, sizeBytes, createdAtMs, load, scale, targetConcurrency, giveUpInMs } = version;
  const deadline = giveUpInMs === null ? "" : `; given up in ${durationText(giveUpInMs)}`;
  return (
    <tr>
      <th scope="row">
        <span class={`swatch part-${tone}`} aria-hidden="true" />
        <code>{id}</code>
        <span class="under faint" title={version.source}>
          {runtime}, {bytesText(sizeBytes)}, made {agoText(createdAtMs, Date.now())}
        </span>
      </th>
      <td title={`${phase}${deadline}`}>
        <StatusBadge word={phase} />
        {giveUpInMs !== null && <span class="under faint">given up in {durationText(giveUpInMs)}</span>}
      </td>
      <td class="num">{weight} %</td>
      <td class="num">{numberText(load.qps)}</td>
      <td class="num">{latencyText(load.p50Ms)}</td>
      <td class="num">{latencyText(load.p99Ms)}</td>
      <td class="num">
        <Meter value={load.inFlight} bound={capacityOf([version])} label="in flight against target" />
      </td>
      <td class="num wide">{numberText(targetConcurrency)}</td>
      <td class={`num ${scale.wanted !== null && scale.ready < scale.wanted ? "warn-text" : ""}`}>
        {scale.ready}
        <span class="faint"> / {scale.wanted ?? "-"}</span>
      </td>
      <td class="num wide">{version.coldStarts}</td>
    </tr>
  );
}

function Preparation({
  doing,
  done,
  total,
}: {
  readonly doing: string;
  readonly done: number | null;
  readonly total: number | null;
}) {
  return (
    <p class="preparation">
      <span>{doing}</span>
      {done !== null && total !== null && total > 0 && (
        <>
          <progress max={total} value={done} aria-label={doing} />
          <span class="num">
            {bytesText(done)} of {bytesText(total)}
          </span>
        </>
      )}
    </p>
  );
}

function Failure({ version }: { readonly version: VersionView }) {
  const { why = "", lastLog = [] } = version.failure ?? {};
  return (
    <div class="error">
      <strong>{version.id}</strong> was given up: {why}
      {lastLog.length > 0 && <LogBlock lines={lastLog} />}
    </div>
  );
}
