import type { Known } from "../core/known.ts";
import type { EndpointSpec } from "./endpoint.ts";
import type { RouterLoad } from "./load.ts";
import type { Granted, HostedReplica, Machine, ReplicaReport, ReplicaSet, Wanted } from "./replica.ts";
import type { Prepared, Rollout } from "./rollout.ts";
import type { Snapshot } from "./snapshot.ts";

/** Every fact and the type of its value; the comment names its key and its only writer. */
export interface Facts {
  /** endpoint; the user, by API or region file. */
  readonly spec: EndpointSpec;
  /** endpoint; the preparer. */
  readonly prepared: Prepared;
  /** endpoint; rollout. */
  readonly rollout: Rollout;
  /** version; autoscaler. */
  readonly wanted: Wanted;
  /** version; capacity. */
  readonly granted: Granted;
  /** version; fleet. */
  readonly replicaSet: ReplicaSet;
  /** `region`; publisher. */
  readonly snapshot: Snapshot;
  /** replica; its keeper. */
  readonly replica: ReplicaReport;
  /** replica; the agent. */
  readonly hosted: HostedReplica;
  /** machine; the agent. */
  readonly machine: Machine;
  /** router; that router. */
  readonly routerLoad: RouterLoad;
  /** `region`; the user: hashes of API keys and what they open. */
  readonly keys: ApiKeys;
}

/** API keys by hash; `required` is false only where the region listens on loopback and no key was made mandatory. */
export interface ApiKeys {
  readonly required: boolean;
  readonly keys: readonly ApiKey[];
}

/** One API key: `endpoints` null = all; `admin` opens the control API. */
export interface ApiKey {
  readonly hash: string;
  readonly name: string;
  readonly endpoints: readonly string[] | null;
  readonly admin: boolean;
}

/** Name of a fact. */
export type FactName = keyof Facts;

/** Read access to the Board: the newest value of each fact, with its age and generation. */
export interface BoardView {
  get<F extends FactName>(fact: F, key: string): Known<Facts[F]>;
  /** The keys that have a value, sorted. */
  keys(fact: FactName): readonly string[];
}

/** Key of facts that exist once per region. */
export const REGION_KEY = "region";
