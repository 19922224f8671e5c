import { type Logger, pino } from "pino";
import type { Log, LogFields } from "../ports/log.ts";

/** Lowest level that is written. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** How a log is written: `human` is one short line for a terminal, otherwise one JSON object a line. */
export interface LogOptions {
  readonly level: LogLevel;
  readonly human: boolean;
  /** Takes whole lines with their newline; default standard error. */
  readonly write?: (line: string) => void;
}

/** A log on standard error with flat fields; `code` becomes pino's `msg`. */
export function createLog({ level, human, write }: LogOptions): Log {
  const out = write ?? ((line: string) => void process.stderr.write(line));
  const settings = { level, base: null, formatters: { level: (label: string) => ({ level: label }) } };
  return wrap(pino(settings, { write: human ? (line: string) => out(formatForPeople(line)) : out }));
}

function wrap(logger: Logger): Log {
  return {
    debug: (code, fields) => logger.debug(fields ?? {}, code),
    info: (code, fields) => logger.info(fields ?? {}, code),
    warn: (code, fields) => logger.warn(fields ?? {}, code),
    error: (code, fields) => logger.error(fields ?? {}, code),
    with: (fields) => wrap(logger.child(fields)),
  };
}

/** `12:04:31.201 WARN  REPLICA_EXITED replica=iris-0a1b2c3d4e-0 code=1` from a JSON line. */
function formatForPeople(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as LogFields & { level: string; time: number; msg: string };
  const clock = new Date(time).toTimeString().slice(0, 8);
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${formatValue(value)}`);
  return `${[`${clock}.${String(time % 1000).padStart(3, "0")}`, level.toUpperCase().padEnd(5), msg, ...rest].join(" ")}\n`;
}

function formatValue(value: LogFields[string]): string {
  return typeof value === "string" && /[\s"=]/.test(value) ? JSON.stringify(value) : String(value);
}
