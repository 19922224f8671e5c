import { UserError } from "../core/errors.ts";

/** A UserError that may pass by itself (no network, a full disk): whoever asked tries again, with back-off. */
export class RetryableError extends UserError {}

/** SQLite's result code for a full disk (sqlite.org/rescode.html); locks are files of SQLite. */
const SQLITE_FULL = 13;

/** The system's code of an error (`ENOENT`, `ENOSPC`), or "". */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const { code, errcode } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  if (((errcode ?? 0) & 0xff) === SQLITE_FULL) return "ENOSPC";
  return typeof code === "string" ? code : "";
}
