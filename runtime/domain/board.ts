import type { Known } from "../core/known.ts";
import type { EndpointSpec } from "./endpoint.ts";
import type { RouterLoad } from "./load.ts";
import type { ReplicaId, VersionId } from "./names.ts";
import type { Granted, HostedReplica, Machine, ReplicaReport, ReplicaSet, Wanted } from "./replica.ts";
import type { LoadTime, Prepared, Rollout } from "./rollout.ts";
import type { Published, Route } from "./snapshot.ts";

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
  /** endpoint; publisher. */
  readonly route: Route;
  /** `region`; publisher's hand, which numbers what it sends to the routers. */
  readonly snapshot: Published;
  /** replica; its keeper. */
  readonly replica: ReplicaReport;
  /** replica; the agent. */
  readonly hosted: HostedReplica;
  /** runtime; whoever takes the keepers' reports: the longest start seen since this process began. */
  readonly loadTime: LoadTime;
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

/** Facts whose keys are replicas. */
export type ReplicaFact = "replica" | "hosted";

/** Read access to the Board: the newest value of each fact, with its age and generation. */
export interface BoardView {
  get<F extends FactName>(fact: F, key: string): Known<Facts[F]>;
  /** The keys that have a value, sorted. */
  keys(fact: FactName): readonly string[];
  /** The keys of one version's replicas that have a value, sorted. Cost: none of other versions' replicas. */
  replicasOf(fact: ReplicaFact, version: VersionId): readonly ReplicaId[];
}

/** Key of facts that exist once per region. */
export const REGION_KEY = "region";
