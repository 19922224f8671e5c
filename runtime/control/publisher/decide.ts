import type { Verdict } from "../../core/controller.ts";
import { asMonoMs, type MonoMs, type Now } from "../../core/time.ts";
import { SETTLE_MS } from "../../domain/settle.ts";
import type { Route, SnapshotEndpoint, SnapshotReplica, SnapshotVersion } from "../../domain/snapshot.ts";
import { DOORS_OF_RUNTIME, type Door } from "../../domain/version.ts";
import type { EndpointFacts, PublisherWorld, VersionRow } from "./world.ts";

/** Requests in flight that a replica should carry while nothing has said so: one batch of a small model. */
const UNLEARNED_TARGET = 4;
/**
 * Above the target requests still enter a replica up to this many times it: room for chance, so that a full replica is
 * not the only idle one's excuse. More would only move the queue into the replica, where a model past its knee (memory full)
 * answers everything slower; the autoscaler sees beyond the target by raising it.
 */
const CAP_PER_TARGET = 1.25;

/** What publisher remembers of an endpoint. */
export interface PublisherMemory {
  readonly startedAtMs: MonoMs | null;
  /** What exists is known, so deciding may begin. */
  readonly settled: boolean;
}

/** Decides an endpoint's route. Versions and replicas stand in the order of their names. */
export function decidePublisher(
  world: PublisherWorld,
  before: PublisherMemory,
  now: Now,
): Verdict<PublisherMemory, Route> {
  const startedAtMs = before.startedAtMs ?? now.mono;
  const isTold = world.hostKnown && world.unheard === 0;
  const settled = before.settled || isTold || now.mono - startedAtMs >= SETTLE_MS;
  const memory = { startedAtMs, settled };
  const inputs = { versions: world.versions.length, unheard: world.unheard };
  if (!settled) {
    const wakeAtMs = asMonoMs(startedAtMs + SETTLE_MS);
    return { memory, output: null, because: { reason: "hold: restart", inputs }, wakeAtMs };
  }
  const endpoint = world.endpoint === null ? null : endpointOf(world.endpoint, world.versions);
  const versions = world.versions.filter((version) => version.phase !== "failed").map(versionOf);
  const isOver = endpoint === null && versions.length === 0;
  return {
    memory,
    output: isOver ? null : { endpoint, versions },
    because: { reason: isOver ? "end: endpoint is deleted" : "publish: as decided", inputs },
    wakeAtMs: null,
  };
}

function endpointOf(
  { settings, runtime, prepareProblem }: EndpointFacts,
  versions: readonly VersionRow[],
): SnapshotEndpoint {
  const split = splitOf(versions);
  const runtimes = split.flatMap(({ version }) => versions.find(({ id }) => id === version)?.runtime ?? []);
  const doors: readonly Door[] =
    runtimes.length > 0 || runtime === "auto"
      ? [...new Set(runtimes.flatMap((each) => DOORS_OF_RUNTIME[each]))]
      : DOORS_OF_RUNTIME[runtime];
  const failure = versions.find((version) => version.phase === "failed")?.failure ?? null;
  const failed = failure === null ? null : `its newest version was given up: ${failure}. See penstock describe.`;
  return { ...settings, split, doors, problem: split.length > 0 ? null : (prepareProblem ?? failed) };
}

/** The weights of what serves; where nothing serves yet, all to the version that stages, so that requests wait for it. */
function splitOf(versions: readonly VersionRow[]): SnapshotEndpoint["split"] {
  const serving = versions.filter((version) => version.weight > 0);
  if (serving.length > 0) return serving.map(({ id, weight }) => ({ version: id, weight }));
  const staging = versions.find((version) => version.phase === "staging");
  return staging === undefined ? [] : [{ version: staging.id, weight: 100 }];
}

function versionOf({ id, endpoint, url, maxInFlight, targetConcurrency, replicas }: VersionRow): SnapshotVersion {
  const target = Math.min(targetConcurrency ?? UNLEARNED_TARGET, maxInFlight ?? Number.POSITIVE_INFINITY);
  return {
    id,
    endpoint,
    targetConcurrency: target,
    hardCap: computeHardCap(target, maxInFlight),
    replicas: replicas.flatMap(({ id: replica, epoch, phase, address, draining }): SnapshotReplica[] => {
      if (address === null || (phase !== "ready" && phase !== "draining")) return [];
      return [{ id: replica, epoch, address, basePath: basePathOf(url), draining }];
    }),
  };
}

/** Most requests one replica may hold: what the model demands, else a quarter over the target and at least one more than it. */
export function computeHardCap(targetConcurrency: number, maxInFlight: number | null): number {
  const cap = Math.max(Math.ceil(targetConcurrency) + 1, Math.floor(targetConcurrency * CAP_PER_TARGET));
  return Math.min(cap, maxInFlight ?? cap);
}

function basePathOf(url: string | null): string {
  return url === null ? "" : new URL(url).pathname.replace(/\/+$/, "");
}
