import type { LogLevel } from "../../domain/endpoint.ts";
import type { RouterLoad } from "../../domain/load.ts";
import type { Epoch, ReplicaId, VersionId } from "../../domain/names.ts";
import type { HostedReplica, Machine, ReplicaReport, ReplicaSet } from "../../domain/replica.ts";
import type { Generation, Snapshot, SnapshotDiff } from "../../domain/snapshot.ts";

/** First message on every connection to the controller: who dials. */
export interface Hello {
  readonly kind: "hello";
  readonly role: "router" | "agent" | "keeper";
  readonly name: string;
  readonly epoch: Epoch;
  /** router: the snapshot it holds, so that a diff can be sent. */
  readonly holds: Generation | null;
}

/** What routers, agents and keepers say. */
export type ToController =
  | Hello
  | { readonly kind: "routerLoad"; readonly load: Omit<RouterLoad, "receivedAtMs"> }
  /**
   * A queue's rising edge: a request waits and no replica has room (or exists). It carries no state: the router sends
   * its routerLoad just before it on the same connection, and the wake makes the version be decided at once.
   * Repeats are harmless.
   */
  | { readonly kind: "wake"; readonly version: VersionId }
  | { readonly kind: "replica"; readonly report: ReplicaReport }
  | { readonly kind: "hosted"; readonly replica: HostedReplica }
  | { readonly kind: "gone"; readonly replica: ReplicaId }
  | { readonly kind: "machine"; readonly machine: Machine }
  /** A line a process wrote, for `penstock logs`. */
  | { readonly kind: "logLines"; readonly source: string; readonly lines: readonly string[] };

/** What the controller says to a router. A router that sees a gap asks for the whole by sending Hello again. */
export type ToRouter = { readonly kind: "snapshot"; readonly snapshot: Snapshot } | SnapshotDiff;

/** What the controller says to an agent. The agent keeps the last set of each version on disk. */
export type ToAgent =
  | { readonly kind: "replicaSet"; readonly set: ReplicaSet }
  | { readonly kind: "removeVersion"; readonly version: VersionId };

/** What the controller says to a keeper: after each Hello, and when its endpoint's spec changes. */
export type ToKeeper = { readonly kind: "logLevel"; readonly level: LogLevel };

/** Any message of our own wire. */
export type WireMessage = ToController | ToRouter | ToAgent | ToKeeper;
