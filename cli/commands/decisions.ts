import type { DecisionRow } from "../../runtime/operate/views/decision-view.ts";
import { EXIT } from "../exit.ts";
import { type CommonOptions, openSession } from "../session.ts";
import { numberText, timeText } from "../terminal/format.ts";
import { type Column, renderTable } from "../terminal/table.ts";

/** `penstock decisions [name]`: what the controllers decided and why. */
export async function decisions(
  name: string | undefined,
  options: CommonOptions & { readonly limit: number; readonly controller?: string; readonly before?: number },
): Promise<void> {
  const { terminal, region } = openSession(options);
  const query = new URLSearchParams({ limit: String(options.limit) });
  if (name !== undefined) query.set("endpoint", name);
  if (options.controller !== undefined) query.set("controller", options.controller);
  if (options.before !== undefined) query.set("beforeId", String(options.before));
  const page = await region.get<{ decisions: DecisionRow[] }>(`/decisions?${query}`);
  if (terminal.json) return terminal.printJson(page.decisions);
  const { width, style } = terminal;
  for (const line of renderTable(page.decisions, decisionColumns(), { width, headPaint: style.dim }))
    terminal.print(line);
}

/** Columns of a table of decisions. */
export function decisionColumns(): Column<DecisionRow>[] {
  return [
    { head: "ID", cell: (row) => String(row.id), align: "right" },
    { head: "TIME", cell: (row) => timeText(row.atWallMs) },
    { head: "CONTROLLER", cell: (row) => row.controller },
    { head: "KEY", cell: (row) => row.key },
    { head: "REASON", cell: (row) => row.reason },
    { head: "INPUTS", cell: (row) => inputsText(row.inputs) },
  ];
}

function inputsText(inputs: DecisionRow["inputs"]): string {
  return Object.entries(inputs)
    .map(([name, value]) => `${name}=${typeof value === "number" ? numberText(value) : value}`)
    .join(" ");
}

interface Replay {
  readonly equal: boolean;
  readonly recorded: unknown;
  readonly replayed: unknown;
}

/** `penstock replay ID`: makes a recorded decision again; ends with 1 when it comes out differently. */
export async function replay(id: number, options: CommonOptions): Promise<void> {
  const { terminal, region } = openSession(options);
  const result = await region.get<Replay>(`/decisions/${id}/replay`);
  if (!result.equal) process.exitCode = EXIT.failed;
  if (terminal.json) return terminal.printJson(result);
  if (result.equal) {
    terminal.print(`${terminal.style.good("equal")}: decision ${id} comes out the same, bit for bit`);
    terminal.print(JSON.stringify(result.recorded, null, 2));
    return;
  }
  terminal.print(`${terminal.style.bad("differs")}: decision ${id} comes out differently today`);
  terminal.print(`recorded: ${JSON.stringify(result.recorded, null, 2)}`);
  terminal.print(`replayed: ${JSON.stringify(result.replayed, null, 2)}`);
}
