import { type Logger, pino } from "pino";
import { logSentence } from "../contract/wire/log-sentence.ts";
import { printable } from "../core/terminal-text.ts";
import type { LogLevel } from "../domain/endpoint.ts";
import type { Log, LogFields } from "../ports/log.ts";

/** How a log is written: `human` is one short line for a terminal, otherwise one JSON object a line. */
export interface LogOptions {
  readonly level: LogLevel;
  readonly human: boolean;
  /** Takes whole lines with their newline; default standard error. */
  readonly write?: (line: string) => void;
}

/** A log whose level can be changed while it is in use, for all that came of it by `with` too. */
export interface LeveledLog extends Log {
  setLevel(level: LogLevel): void;
  with(fields: LogFields): LeveledLog;
}

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** A log on standard error with flat fields; `code` becomes pino's `msg`. */
export function createLog({ level, human, write }: LogOptions): LeveledLog {
  const out = write ?? ((line: string) => void process.stderr.write(line));
  // pino's children keep the level of their making; the gate before them is shared.
  const settings = { level: "debug", base: null, formatters: { level: (label: string) => ({ level: label }) } };
  const logger = pino(settings, { write: human ? (line: string) => out(formatForPeople(line)) : out });
  return wrap(logger, { lowest: RANK[level] });
}

function wrap(logger: Logger, gate: { lowest: number }): LeveledLog {
  const at = (level: LogLevel) => (code: string, fields?: LogFields) => {
    if (RANK[level] >= gate.lowest) logger[level](fields ?? {}, code);
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => wrap(logger.child(fields), gate),
    setLevel: (level) => {
      gate.lowest = RANK[level];
    },
  };
}

/** `12:04:31.201 WARN  WANTED_SETS_NOT_SAVED why="disk full"` from a JSON line; what has a sentence is told in it. */
function formatForPeople(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as LogFields & { level: string; time: number; msg: string };
  const clock = new Date(time).toTimeString().slice(0, 8);
  const rest = [
    logSentence(msg, fields) ?? Object.entries(fields).map(([name, value]) => `${name}=${formatValue(value)}`),
  ].flat();
  const stamp = `${clock}.${String(time % 1000).padStart(3, "0")}`;
  return `${printable([stamp, level.toUpperCase().padEnd(5), msg, ...rest].join(" "))}\n`;
}

function formatValue(value: LogFields[string]): string {
  return typeof value === "string" && /[\s"=]/.test(value) ? JSON.stringify(value) : String(value);
}
