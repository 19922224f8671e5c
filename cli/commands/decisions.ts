import { momentText, numberText } from "../../runtime/core/format.ts";
import type { DecisionRow } from "../../runtime/operate/views/decision-view.ts";
import type { ShadowRow } from "../../runtime/operate/views/shadow-view.ts";
import { EXIT } from "../exit.ts";
import { type CommonOptions, openSession, type Session } from "../session.ts";
import { type Column, renderTable } from "../terminal/table.ts";

/** Options of `penstock decisions`. */
export interface DecisionsOptions extends CommonOptions {
  readonly limit: number;
  readonly controller?: string;
  readonly before?: number;
  readonly shadow?: string;
}

/** `penstock decisions [name]`: what the controllers decided and why, or what a law in shadow would have done. */
export async function decisions(name: string | undefined, options: DecisionsOptions): Promise<void> {
  const { terminal, region } = openSession(options);
  const query = new URLSearchParams({ limit: String(options.limit) });
  if (name !== undefined) query.set("endpoint", name);
  if (options.controller !== undefined) query.set("controller", options.controller);
  if (options.before !== undefined) query.set("beforeId", String(options.before));
  if (options.shadow !== undefined) return printShadow(terminal, region, options.shadow, query);
  const page = await region.get<{ decisions: DecisionRow[] }>(`/decisions?${query}`);
  if (terminal.json) return terminal.printJson(page.decisions);
  const { width, style } = terminal;
  for (const line of renderTable(page.decisions, decisionColumns(), { width, headPaint: style.dim }))
    terminal.print(line);
}

async function printShadow(
  terminal: Session["terminal"],
  region: Session["region"],
  shadow: string,
  query: URLSearchParams,
): Promise<void> {
  const path = `/shadows/${encodeURIComponent(shadow)}/decisions?${query}`;
  const { rows } = await region.get<{ rows: ShadowRow[] }>(path);
  if (terminal.json) return terminal.printJson(rows);
  const columns: Column<ShadowRow>[] = [
    { head: "ID", cell: (row) => String(row.shadow.id), align: "right" },
    { head: "TIME", cell: (row) => momentText(row.shadow.atWallMs, Date.now()) },
    { head: "KEY", cell: (row) => row.shadow.key },
    { head: "SHADOW", cell: (row) => outputText(row.shadow) },
    { head: "REAL", cell: (row) => (row.differs ? outputText(row.real) : "the same") },
    { head: "REASON", cell: (row) => row.shadow.reason },
  ];
  const { width, style } = terminal;
  for (const line of renderTable(rows, columns, { width, headPaint: style.dim })) terminal.print(line);
}

/** What was decided, cut where it is a whole route or rollout. */
function outputText(row: DecisionRow | null): string {
  const MOST = 72;
  const text = row === null ? "not known any more" : JSON.stringify(row.output);
  return text.length > MOST ? `${text.slice(0, MOST)}…` : text;
}

/** Columns of a table of decisions. */
export function decisionColumns(): Column<DecisionRow>[] {
  return [
    { head: "ID", cell: (row) => String(row.id), align: "right" },
    { head: "TIME", cell: (row) => momentText(row.atWallMs, Date.now()) },
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
