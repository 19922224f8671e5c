import { type Style, styleFor, wantsColour } from "./style.ts";

/** Where a command writes: results to stdout, progress and errors to stderr. */
export interface Terminal {
  /** Results are wanted as JSON for a program. */
  readonly json: boolean;
  readonly style: Style;
  /** Columns of stdout, or null where it is no terminal and nothing need be cut. */
  readonly width: number | null;
  /** stderr is a terminal: progress may redraw its line. */
  readonly live: boolean;
  print(line: string): void;
  /** One JSON value on a line of its own. */
  printJson(value: unknown): void;
  note(line: string): void;
  /** Replaces the line last drawn; an empty one takes it away. Without a live terminal nothing is drawn. */
  draw(line: string): void;
}

/** The process's own terminal. */
export function processTerminal(json: boolean): Terminal {
  const { stdout, stderr, env } = process;
  const live = stderr.isTTY === true && env.TERM !== "dumb";
  const write = (line: string): void => {
    stdout.write(`${line}\n`);
  };
  const draw = (line: string): void => {
    if (live) stderr.write(`\r\u001b[2K${line.slice(0, Math.max(20, (stderr.columns ?? 80) - 1))}`);
  };
  return {
    json,
    style: styleFor(wantsColour(env, stdout.isTTY === true)),
    width: stdout.isTTY === true ? (stdout.columns ?? 80) : null,
    live,
    print: write,
    printJson: (value) => write(JSON.stringify(value, null, stdout.isTTY === true ? 2 : 0)),
    note: (line) => {
      draw("");
      stderr.write(`${line}\n`);
    },
    draw,
  };
}
