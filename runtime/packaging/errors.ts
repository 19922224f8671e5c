import { UserError } from "../core/errors.ts";

/** A UserError that may pass by itself (no network, a full disk): whoever asked tries again, with back-off. */
export class RetryableError extends UserError {}

/** The system's code of an error (`ENOENT`, `ENOSPC`), or "". */
export function systemCode(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" ? code : "";
}

/** Bytes for people: binary units, one decimal (`91.5 MiB`). */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
