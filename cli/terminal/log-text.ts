import { readLine } from "../../runtime/operate/logs/read-line.ts";
import type { Style } from "./style.ts";
import { printable } from "./table.ts";

/** A log line for a person: of the region's own JSON lines the code and the fields, others as they are; troubles in colour. */
export function logText(line: string, style: Style): string {
  const { level, code, text } = readLine(line);
  const shown = printable(code === null ? text : `${code} ${text}`.trimEnd());
  if (level === "plain") return shown;
  return level === "error" ? style.bad(shown) : style.warn(shown);
}
