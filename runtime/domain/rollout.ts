import type { MonoMs, WallMs } from "../core/time.ts";
import type { EndpointName, VersionId } from "./names.ts";
import type { RuntimeKind, Version } from "./version.ts";

/** State of making a version out of what a spec names (fetch, look, hash, lock its environment): the `prepared` fact. */
export interface Prepared {
  readonly endpoint: EndpointName;
  /** The modelKeyOf the spec this answers. */
  readonly modelKey: string;
  /** The deployNumber of the spec this answers. */
  readonly deployNumber: number;
  readonly state:
    | {
        readonly kind: "working";
        readonly doing: string;
        readonly doneBytes: number | null;
        readonly totalBytes: number | null;
      }
    | { readonly kind: "ready"; readonly version: Version }
    | { readonly kind: "failed"; readonly code: string; readonly why: string; readonly todo: string };
}

/**
 * Phase of one version of an endpoint.
 * staging: replicas start, no traffic yet. serving: has a weight. draining: weight 0, replicas end when idle.
 * kept: no replicas, may be rolled back to. failed: given up, traffic never moved to it.
 */
export type VersionPhase = "staging" | "serving" | "draining" | "kept" | "failed";

/** One version in the rollout fact. */
export interface RolledVersion {
  readonly version: Version;
  readonly phase: VersionPhase;
  /** Percent of the endpoint's traffic it gets now, 0..100. The weights of an endpoint sum to 100, or to 0 before any version is ready. */
  readonly weight: number;
  /** Percent its replicas are sized for: leads `weight` while staging, follows it while draining. */
  readonly sizedForWeight: number;
  /** When this phase was entered. */
  readonly sinceMs: MonoMs;
  /** Deadline for getting ready, from measured load time; null outside staging. */
  readonly giveUpAtMs: MonoMs | null;
  /** Why it failed, with its last log lines; null unless failed. */
  readonly failure: { readonly why: string; readonly lastLog: readonly string[] } | null;
}

/** The `rollout` fact of an endpoint: its versions and the split between them. */
export interface Rollout {
  readonly endpoint: EndpointName;
  readonly versions: readonly RolledVersion[];
  readonly updatedAtMs: WallMs;
}

/** The version entry of an id, or null. */
export function rolledVersion(rollout: Rollout, id: VersionId): RolledVersion | null {
  return rollout.versions.find((rolled) => rolled.version.id === id) ?? null;
}

/** A measured load: from process start to ready, of an artifact of this size. The `loadTime` fact holds each runtime's longest. */
export interface LoadTime {
  readonly runtime: RuntimeKind;
  readonly startupMs: number;
  readonly sizeBytes: number;
}
