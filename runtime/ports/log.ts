/** A log with bound fields; `code` is a stable SCREAMING_CASE name, fields are flat. */
export interface Log {
  debug(code: string, fields?: LogFields): void;
  info(code: string, fields?: LogFields): void;
  warn(code: string, fields?: LogFields): void;
  error(code: string, fields?: LogFields): void;
  with(fields: LogFields): Log;
}

/** Flat fields of a log line. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;
