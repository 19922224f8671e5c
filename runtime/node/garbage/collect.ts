import { lstat, readdir, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Version } from "../../domain/version.ts";
import { systemCode } from "../../packaging/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import { planGarbage, type Stored, type StoredKind, type Used } from "./plan.ts";

/** Where a region stores things, and who tells the time. */
export interface GarbagePlaces {
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly clock: Clock;
}

/**
 * Removes what no version of the region refers to any more and marks the environments in use. Returns the paths removed.
 * Requires: `versions` are all that the region knows. Errors: those of the file system, but for files that went meanwhile.
 */
export async function collectGarbage(versions: readonly Version[], places: GarbagePlaces): Promise<readonly string[]> {
  const { dataDir, cacheDir, clock } = places;
  const used = usedBy(versions);
  const folders: Readonly<Record<StoredKind, string>> = {
    artifact: join(dataDir, "artifacts"),
    link: join(dataDir, "environments"),
    environment: join(cacheDir, "environments"),
    log: join(dataDir, "logs"),
  };
  const now = new Date(clock.wallMs());
  for (const hash of used.environments) await ignoringGone(utimes(join(folders.environment, hash), now, now));
  const kinds = Object.keys(folders) as StoredKind[];
  const stored = await Promise.all(kinds.map((kind) => storedIn(folders[kind], kind, clock.wallMs())));
  const removed = planGarbage(stored.flat(), used).map(({ kind, name }) => join(folders[kind], name));
  for (const path of removed) await rm(path, { recursive: true, force: true });
  return removed;
}

function usedBy(versions: readonly Version[]): Used {
  return {
    artifacts: new Set(versions.map((version) => version.artifact.digest)),
    environments: new Set(
      versions.flatMap(({ environmentHash }) => (environmentHash === null ? [] : [environmentHash])),
    ),
    versions: new Set(versions.map((version) => version.id)),
  };
}

async function storedIn(folder: string, kind: StoredKind, wallMs: number): Promise<Stored[]> {
  const names = (await ignoringGone(readdir(folder))) ?? [];
  const stored = names.map(async (name): Promise<Stored[]> => {
    const stat = await ignoringGone(lstat(join(folder, name)));
    return stat === null ? [] : [{ kind, name, ageMs: wallMs - stat.mtimeMs }];
  });
  return (await Promise.all(stored)).flat();
}

/** The result, or null where the file or folder is not there. */
async function ignoringGone<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}
