import { printable } from "../../runtime/core/terminal-text.ts";
import { foldRepeats, timesText } from "../../runtime/operate/logs/fold-repeats.ts";
import { readLine } from "../../runtime/operate/logs/read-line.ts";
import type { Style } from "./style.ts";

/** A log line for a person: of the region's own JSON lines the code and the fields, others as they are; troubles in colour. */
export function logText(line: string, style: Style): string {
  const { level, code, text } = readLine(line);
  const shown = printable(code === null ? text : `${code} ${text}`.trimEnd());
  if (level === "plain") return shown;
  return level === "error" ? style.bad(shown) : style.warn(shown);
}

/** The last lines of what failed, each behind a bar; what a crash loop wrote again and again stands there once, with how often. */
export function lastLines(lines: readonly string[], style: Style): string[] {
  return foldRepeats(lines).flatMap((block) => {
    const texts = block.lines.map((line) => `  ${style.dim("|")} ${logText(line, style)}`.trimEnd());
    const times = timesText(block);
    return times === "" ? texts : [...texts, `  ${style.dim(`| ${times}`)}`];
  });
}
