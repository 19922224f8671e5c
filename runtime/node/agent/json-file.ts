import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** The value in a JSON file, or null where there is none or it can't be read: such files are conveniences, never the only copy. */
export function readJsonFile<T>(path: string): T | null {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as T;
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
