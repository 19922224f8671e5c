import { logSentence } from "../../contract/wire/log-sentence.ts";

/** A line as it is shown: how loud it is, and for a structured one its code before its fields. */
export interface ReadLine {
  readonly level: "error" | "warn" | "plain";
  readonly code: string | null;
  readonly text: string;
}

/** Fields that say what the row already says. */
const TOLD_ELSEWHERE = new Set(["level", "time", "msg", "pid", "hostname"]);

/** Reads a line: the region's own are JSON with `level` and `msg`, others tell their level by their first word. */
export function readLine(line: string): ReadLine {
  const record = recordOf(line);
  if (record === null) return { level: levelOfText(line), code: null, text: line };
  const code = String(record.msg);
  const sentence = logSentence(code, record);
  if (sentence !== null) return { level: levelOfWord(String(record.level)), code, text: sentence };
  const fields = Object.entries(record).filter(([name]) => !TOLD_ELSEWHERE.has(name));
  const text = fields.map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return { level: levelOfWord(String(record.level)), code, text: text.join(" ") };
}

function recordOf(line: string): Readonly<Record<string, unknown>> | null {
  if (!line.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(line);
    const isOwn = typeof value === "object" && value !== null && "level" in value && "msg" in value;
    return isOwn ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

function levelOfWord(level: string): ReadLine["level"] {
  if (level === "error" || level === "fatal") return "error";
  return level === "warn" ? "warn" : "plain";
}

function levelOfText(line: string): ReadLine["level"] {
  if (/^\W*(error|fatal|traceback)\b/i.test(line)) return "error";
  return /^\W*warn(ing)?\b/i.test(line) ? "warn" : "plain";
}
