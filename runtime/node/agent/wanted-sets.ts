import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { VersionId } from "../../domain/names.ts";
import type { ReplicaSet } from "../../domain/replica.ts";
import type { Log } from "../../ports/log.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";

/** The last wanted set of each version, also on disk: with no controller to ask, replicas start from it. */
export class WantedSets {
  readonly #path: string;
  readonly #log: Log;
  readonly #sets: Map<VersionId, ReplicaSet>;

  constructor(dataDir: string, log: Log) {
    this.#path = join(dataDir, "wanted-sets.json");
    this.#log = log;
    const sets = readJsonFile<readonly ReplicaSet[]>(this.#path, areSets) ?? [];
    this.#sets = new Map(sets.map((set) => [set.version.id, set]));
  }

  all(): readonly ReplicaSet[] {
    return [...this.#sets.values()];
  }

  /** Keeps the set; false when it is the one that was there. */
  put(set: ReplicaSet): boolean {
    if (isDeepStrictEqual(this.#sets.get(set.version.id), set)) return false;
    this.#sets.set(set.version.id, set);
    this.#write();
    return true;
  }

  remove(version: VersionId): void {
    if (this.#sets.delete(version)) this.#write();
  }

  #write(): void {
    try {
      writeJsonFile(this.#path, this.all());
    } catch (error) {
      this.#log.warn("WANTED_SETS_NOT_SAVED", { why: (error as Error).message });
    }
  }
}

function areSets(sets: readonly ReplicaSet[]): boolean {
  return sets.every(({ version, replicas }) => typeof version.id === "string" && Array.isArray(replicas));
}
