import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type KeptFormat, readKept, writeKept } from "../../adapters/kept-file.ts";
import { ordinalOfReplica, replicaIdOf, type VersionId } from "../../domain/names.ts";
import type { ReplicaSet } from "../../domain/replica.ts";
import { type Version, versionIdFrom } from "../../domain/version.ts";
import type { Log } from "../../ports/log.ts";

const FORMAT: KeptFormat = "wanted-sets/1";

interface Contents {
  readonly sets: readonly ReplicaSet[];
}

/** The last wanted set of each version, also on disk: with no controller to ask, replicas start from it. */
export class WantedSets {
  readonly #path: string;
  readonly #log: Log;
  readonly #sets: Map<VersionId, ReplicaSet>;

  constructor(dataDir: string, log: Log) {
    this.#path = join(dataDir, "wanted-sets.json");
    this.#log = log;
    const onSetAside = (why: string): void => log.warn("WANTED_SETS_SET_ASIDE", { why });
    const kept = readKept<Contents>(this.#path, FORMAT, areSets, onSetAside);
    this.#sets = new Map(kept?.sets.map((set) => [set.version.id, set]));
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
      writeKept(this.#path, FORMAT, { sets: this.all() } satisfies Contents);
    } catch (error) {
      this.#log.warn("WANTED_SETS_NOT_SAVED", { why: (error as Error).message });
    }
  }
}

/**
 * A version's id is the hash of what it is made of, so that a damaged one doesn't start; a replica's id is a file's name.
 * The controller's first word corrects the rest.
 */
function areSets({ sets }: Contents): boolean {
  return sets.every(
    ({ version, replicas }) =>
      isOfItsId(version) && replicas.every(({ id }) => replicaIdOf(version.id, ordinalOfReplica(id)) === id),
  );
}

function isOfItsId({ id, endpoint, runtime, artifact, environmentHash, run }: Version): boolean {
  return versionIdFrom(endpoint, { runtime, artifactDigest: artifact.digest, environmentHash, run }) === id;
}
