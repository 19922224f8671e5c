import { forTerminal } from "../../runtime/core/terminal-text.ts";
import { type Style, styleFor, wantsColour } from "./style.ts";

/** Where a command writes: results to stdout, progress and errors to stderr. What others wrote can't command it. */
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

/** Characters that can command a terminal and that JSON does not escape by itself. */
const UNESCAPED = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The process's own terminal. */
export function processTerminal(json: boolean): Terminal {
  const { stdout, stderr, env } = process;
  const live = stderr.isTTY === true && env.TERM !== "dumb";
  const write = (line: string): void => {
    stdout.write(`${forTerminal(line)}\n`);
  };
  const draw = (line: string): void => {
    if (live) stderr.write(`\r\u001b[2K${forTerminal(line).slice(0, Math.max(20, (stderr.columns ?? 80) - 1))}`);
  };
  return {
    json,
    style: styleFor(wantsColour(env, stdout.isTTY === true)),
    width: stdout.isTTY === true ? (stdout.columns ?? 80) : null,
    live,
    print: write,
    printJson: (value) => write(JSON.stringify(value, null, stdout.isTTY === true ? 2 : 0).replace(UNESCAPED, escaped)),
    note: (line) => {
      draw("");
      stderr.write(`${forTerminal(line)}\n`);
    },
    draw,
  };
}
