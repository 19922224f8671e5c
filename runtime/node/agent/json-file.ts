import { readFileSync, renameSync, writeFileSync } from "node:fs";

/**
 * The value in a JSON file, or null where there is none, it can't be read, or it is not of the shape that `fits` looks for
 * (which may throw on another one): such files are conveniences, never the only copy.
 */
export function readJsonFile<T>(path: string, fits: (value: T) => boolean): T | null {
  try {
    const value = JSON.parse(readFileSync(path, "utf8")) as T;
    return fits(value) ? value : null;
  } catch {
    return null;
  }
}

/** Replaces a JSON file whole: a reader sees the old or the new one, also after a kill in between. Errors: those of the file system. */
export function writeJsonFile(path: string, value: unknown): void {
  const beside = `${path}.new`;
  writeFileSync(beside, `${JSON.stringify(value)}\n`, { mode: 0o600 });
  renameSync(beside, path);
}
