import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** What a file holds that one life of a process keeps for the next, and the version of its shape: `snapshot/1`. */
export type KeptFormat = `${string}/${number}`;

/**
 * What is kept in a file, or null where there is none. A file that can't be read, that has another format or that `fits`
 * refuses (it may throw) is moved aside to `<path>.set-aside`, whole and unread, and `onSetAside` is told why: such files
 * are conveniences, never the only copy.
 */
export function readKept<T extends object>(
  path: string,
  format: KeptFormat,
  fits: (value: T) => boolean,
  onSetAside: (why: string) => void,
): T | null {
  try {
    const { format: found, ...rest } = JSON.parse(readFileSync(path, "utf8")) as { readonly format?: unknown };
    if (found === undefined) throw new Error(`it names no format; ${format} is read here`);
    if (found !== format) throw new Error(`its format is ${JSON.stringify(found)}; ${format} is read here`);
    if (!fits(rest as T)) throw new Error(`it is no whole ${format}`);
    return rest as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    onSetAside(`${(error as Error).message}; ${setAside(path)}`);
    return null;
  }
}

function setAside(path: string): string {
  const aside = `${path}.set-aside`;
  try {
    renameSync(path, aside);
    return `it was moved to ${aside}`;
  } catch (error) {
    return `it can't be moved aside: ${(error as Error).message}`;
  }
}

/** Text of a file that `readKept` reads. */
export function encodeKept(format: KeptFormat, value: object): string {
  return `${JSON.stringify({ format, ...value })}\n`;
}

/** Replaces a kept file whole: a reader sees the old or the new one, also after a kill in between. Errors: those of the file system. */
export function writeKept(path: string, format: KeptFormat, value: object): void {
  const beside = `${path}.new`;
  writeFileSync(beside, encodeKept(format, value), { mode: 0o600 });
  renameSync(beside, path);
}
