import { timeText } from "../../../../core/format.ts";
import type { DecisionRow } from "../../../views/decision-view.ts";
import { ROW_ATTRIBUTE } from "../shell/use-shortcuts.ts";
import { DecisionDetail } from "./decision-detail.tsx";
import { controllerParts, shadowsOf } from "./shadows.ts";
import { inputsSummary, outputSummary } from "./summary.ts";

/** Decisions, a row each: why, with what inputs, and what came out; a row opens to all of it. */
export function DecisionTable({
  rows,
  beside = rows,
  openId,
  onToggle,
}: {
  readonly rows: readonly DecisionRow[];
  /** Where decisions of shadows are looked for, to stand beside the live ones. */
  readonly beside?: readonly DecisionRow[];
  readonly openId: number | null;
  /** Opens or closes a row. */
  readonly onToggle: (id: number) => void;
}) {
  const shadowRows = beside.filter(({ controller }) => controllerParts(controller).shadow !== null);
  return (
    <table class="grid decisions">
      <caption class="unseen">Decisions, newest first</caption>
      <thead>
        <tr>
          <th scope="col" class="c-time">
            Time
          </th>
          <th scope="col" class="c-controller">
            Controller
          </th>
          <th scope="col" class="c-key">
            About
          </th>
          <th scope="col" class="c-reason">
            Reason
          </th>
          <th scope="col">Decided</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Rows
            key={row.id}
            row={row}
            shadowRows={shadowRows}
            isOpen={row.id === openId}
            onToggle={() => onToggle(row.id)}
          />
        ))}
      </tbody>
    </table>
  );
}

function Rows({
  row,
  shadowRows,
  isOpen,
  onToggle,
}: {
  readonly row: DecisionRow;
  readonly shadowRows: readonly DecisionRow[];
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}) {
  const { live, shadow } = controllerParts(row.controller);
  const shadows = shadowsOf(row, shadowRows);
  const inputs = inputsSummary(row.inputs);
  return (
    <>
      <tr class={`opens ${shadow === null ? "" : "shadow"}`} onClick={onToggle}>
        <td>
          <button
            type="button"
            class="row-button"
            aria-expanded={isOpen}
            aria-label={`Decision ${row.id} at ${timeText(row.atWallMs)}`}
            onClick={(event) => {
              event.stopPropagation();
              onToggle();
            }}
            {...{ [ROW_ATTRIBUTE]: "" }}
          >
            {timeText(row.atWallMs)}
          </button>
        </td>
        <td>
          {live}
          {shadow !== null && <span class="under">shadow {shadow}</span>}
        </td>
        <td>
          <code title={row.key}>{row.key}</code>
        </td>
        <td>
          <span title={row.reason}>{row.reason}</span>
        </td>
        <td>
          <span class="line">{outputSummary(row.output)}</span>
          {shadows.map(({ shadow: name, agrees, decision }) => (
            <span key={name} class={`under ${agrees ? "faint" : "warn-text"}`}>
              {agrees ? `shadow ${name} agrees` : `shadow ${name} would: ${outputSummary(decision.output)}`}
            </span>
          ))}
          <span class="under faint" title={inputs}>
            {inputs}
          </span>
        </td>
      </tr>
      {isOpen && (
        <tr class="detail">
          <td colSpan={5}>
            <DecisionDetail row={row} shadows={shadows} />
          </td>
        </tr>
      )}
    </>
  );
}
