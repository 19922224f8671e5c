import { useState } from "preact/hooks";
import type { Plain } from "../../../../core/controller.ts";
import type { DecisionRow } from "../../../views/decision-view.ts";
import { useConsole } from "../live/console-context.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import type { ShadowWord } from "./shadows.ts";
import { outputSummary, valueText } from "./summary.ts";

/** The answer of the replay route. */
interface Replay {
  readonly equal: boolean;
  readonly recorded: Plain;
  readonly replayed: Plain;
}

/** One decision whole: its inputs, its output beside what shadows would have done, its world, and its replay. */
export function DecisionDetail({
  row,
  shadows,
}: {
  readonly row: DecisionRow;
  readonly shadows: readonly ShadowWord[];
}) {
  const { api } = useConsole();
  const [world, setWorld] = useState<{ world: Plain; memory: Plain } | null>(null);
  const [replay, setReplay] = useState<Replay | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const ask = <T,>(path: string, take: (answer: T) => void): void => {
    setError(null);
    api.get<T>(path).then(take, setError);
  };
  return (
    <div class="decision">
      <p>
        <strong>{row.reason}</strong>
        <span class="faint">
          {" "}
          decision {row.id} of {row.controller} about {row.key}, {new Date(row.atWallMs).toLocaleString()}
        </span>
      </p>
      <div class="columns">
        <Inputs inputs={row.inputs} />
        <Json title="Output" value={row.output} />
        {shadows.map(({ shadow, decision, agrees }) => (
          <Json
            key={shadow}
            title={`Shadow ${shadow} ${agrees ? "agrees" : "would have decided"}: ${decision.reason}`}
            value={decision.output}
          />
        ))}
      </div>
      <div class="row-actions">
        <button
          type="button"
          disabled={!row.replayable}
          title={row.replayable ? undefined : "It was not recorded whole."}
          onClick={() => ask<Replay>(`/decisions/${row.id}/replay`, setReplay)}
        >
          Replay
        </button>
        <button
          type="button"
          disabled={!row.replayable}
          title={row.replayable ? undefined : "It was not recorded whole."}
          aria-expanded={world !== null}
          onClick={() => (world === null ? ask(`/decisions/${row.id}`, setWorld) : setWorld(null))}
        >
          {world === null ? "Show its world" : "Hide its world"}
        </button>
        <span role="status">{replay !== null && <ReplayVerdict replay={replay} />}</span>
      </div>
      {error !== null && <ErrorNotice error={error} />}
      {replay !== null && !replay.equal && (
        <div class="columns">
          <Json title="Recorded" value={replay.recorded} />
          <Json title="Replayed" value={replay.replayed} />
        </div>
      )}
      {world !== null && (
        <div class="columns">
          <Json title="World" value={world.world} />
          <Json title="Memory" value={world.memory} />
        </div>
      )}
    </div>
  );
}

function ReplayVerdict({ replay }: { readonly replay: Replay }) {
  return replay.equal ? (
    <span class="good-text">
      <b>equal</b>: made again from its world, it comes out the same, bit for bit
    </span>
  ) : (
    <span class="bad-text">
      <b>differs</b>: today's law comes out with {outputSummary(replay.replayed)}
    </span>
  );
}

function Inputs({ inputs }: { readonly inputs: DecisionRow["inputs"] }) {
  const entries = Object.entries(inputs);
  return (
    <div>
      <h3>Inputs</h3>
      {entries.length === 0 ? (
        <p class="faint">none</p>
      ) : (
        <table class="pairs">
          <tbody>
            {entries.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="num" title={String(value)}>
                  {valueText(name, value)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function Json({ title, value }: { readonly title: string; readonly value: Plain }) {
  return (
    <div>
      <h3>{title}</h3>
      <pre class="json">{JSON.stringify(value, null, 2)}</pre>
    </div>
  );
}
