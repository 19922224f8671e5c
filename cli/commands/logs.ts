import { momentText } from "../../runtime/core/format.ts";
import type { LogLine } from "../../runtime/operate/logs/log-book.ts";
import { type CommonOptions, openSession } from "../session.ts";
import { logText } from "../terminal/log-text.ts";
import type { Terminal } from "../terminal/terminal.ts";

/** Options of `penstock logs`. */
export interface LogsOptions extends CommonOptions {
  readonly follow?: boolean;
  readonly source?: string;
  readonly lines: number;
}

/** `penstock logs [name] [-f]`: lines of an endpoint's replicas, or of one process. */
export async function logs(name: string | undefined, options: LogsOptions): Promise<void> {
  const { terminal, region } = openSession(options);
  const query = new URLSearchParams({ lines: String(options.lines) });
  if (name !== undefined) query.set("endpoint", name);
  if (options.source !== undefined) query.set("source", options.source);
  if (options.follow !== true) {
    const { lines } = await region.get<{ lines: LogLine[] }>(`/logs?${query}`);
    for (const line of lines) printLine(terminal, line);
    if (lines.length === 0) terminal.note(`No lines of ${name ?? options.source ?? "this region"} are kept.`);
    return;
  }
  for await (const { data } of region.events(`/logs/follow?${query}`, interruption())) {
    printLine(terminal, JSON.parse(data) as LogLine);
  }
}

function printLine(terminal: Terminal, line: LogLine): void {
  if (terminal.json) terminal.print(JSON.stringify(line));
  else {
    const from = terminal.style.dim(`${momentText(line.atMs, Date.now())} ${line.source}`);
    terminal.print(`${from} ${logText(line.line, terminal.style)}`);
  }
}

/** Never aborts: Ctrl-C ends the process, which is how a follow ends. */
function interruption(): AbortSignal {
  return new AbortController().signal;
}
