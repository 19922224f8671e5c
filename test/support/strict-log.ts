import type { Log } from "../../runtime/ports/log.ts";

/** Quiet, but an error throws: in virtual time it is a controller that threw, which is a bug. */
export const strictLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (code, fields) => {
    throw new Error(`${code} ${JSON.stringify(fields)}`);
  },
  with: () => strictLog,
};
