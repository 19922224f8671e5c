import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../core/errors.ts";

/** A model folder with more files than this is a mistake (a home folder, a dataset). */
const MAX_FILES = 100_000;
/** Folders that are never part of a model: histories, and caches that change by merely running it. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([".git", "__pycache__", ".ipynb_checkpoints"]);

/**
 * All files below a folder as paths relative to it, `/` between parts, in byte order; links to files count as files.
 * Errors: UserError PENSTOCK_ARTIFACT_TOO_MANY_FILES.
 */
export async function listFiles(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  await collect(root, "", found);
  return found.toSorted(compareBytes);
}

async function collect(root: string, below: string, found: string[]): Promise<void> {
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!SKIPPED_FOLDERS.has(entry.name)) await collect(root, path, found);
    } else if (entry.isFile() || (entry.isSymbolicLink() && (await isFile(join(root, path))))) {
      found.push(path);
    }
    if (found.length > MAX_FILES) {
      throw new UserError(
        "PENSTOCK_ARTIFACT_TOO_MANY_FILES",
        `${root} holds more than ${MAX_FILES} files`,
        "Name the folder of the model itself.",
      );
    }
  }
}

/** Whether a file stands there, or a link to one: no folder, pipe, socket or device. */
export async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() ?? false;
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
