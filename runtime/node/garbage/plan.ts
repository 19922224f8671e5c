/** What a region stores that may outlive its use. A `link` is a region's own link to an environment in the shared cache. */
export type StoredKind = "artifact" | "link" | "environment" | "log";

/** One stored thing: its name in its folder, and the time since it was made or last used. */
export interface Stored {
  readonly kind: StoredKind;
  readonly name: string;
  readonly ageMs: number;
}

/** What the region's versions refer to, whatever their phase. */
export interface Used {
  readonly artifacts: ReadonlySet<string>;
  readonly environments: ReadonlySet<string>;
  readonly versions: ReadonlySet<string>;
}

const DAY_MS = 86_400_000;
/**
 * Nothing younger is removed. Artifacts and links: longer than a version takes to be made, since it is known only then.
 * Environments are shared with other regions, of which each one that runs marks its own as used each hour. Logs of a
 * version that is gone are for a look back.
 */
const LEAST_AGE_MS: Readonly<Record<StoredKind, number>> = {
  artifact: DAY_MS,
  link: DAY_MS,
  environment: 30 * DAY_MS,
  log: 7 * DAY_MS,
};

/** Log of a replica, `<version>-<n>.log` or the one before it; those of the controller, router and agent are none. */
const REPLICA_LOG = /^(.+-[0-9a-f]{10})-\d+\.log(?:\.1)?$/;

/** What may be removed: what no version refers to and nothing has used for long. */
export function planGarbage(stored: readonly Stored[], used: Used): readonly Stored[] {
  return stored.filter((one) => one.ageMs >= LEAST_AGE_MS[one.kind] && !isUsed(one, used));
}

function isUsed({ kind, name }: Stored, used: Used): boolean {
  switch (kind) {
    case "artifact":
      return used.artifacts.has(name);
    case "link":
    case "environment":
      return used.environments.has(name);
    case "log": {
      const version = REPLICA_LOG.exec(name)?.[1];
      return version === undefined || used.versions.has(version);
    }
  }
}
