import { MANAGER, MARKS } from "../../contract/spec/kubernetes/names.ts";
import type { ReplicaId, VersionId } from "../../domain/names.ts";
import type { ReplicaReport, ReplicaSet } from "../../domain/replica.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import type { ReplicaHost, ReplicaHostObserver } from "../../ports/replica-host.ts";
import { applyObject, deleteObject } from "./apply.ts";
import { assignReplicas } from "./assign-replicas.ts";
import { type DeploymentOptions, deploymentOf, MAIN_CONTAINER } from "./deployment.ts";
import { KeyedWork } from "./keyed-work.ts";
import { type KubeClient, KubeError } from "./kube-client.ts";
import { ListWatch } from "./list-watch.ts";
import { machineOf, type Node } from "./node.ts";
import { type KubeObject, pathOf, type ResourceType } from "./objects.ts";
import { createdAtMs, hostedOf, type Pod } from "./pod.ts";

const DEPLOYMENTS: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const NODES: ResourceType = { group: "", version: "v1", plural: "nodes" };
/** The nodes together are one machine to the controllers: which of them a pod runs on is the scheduler's business. */
const CLUSTER = "cluster";
const PODS: ResourceType = { group: "", version: "v1", plural: "pods" };
/** Kubernetes' own annotation: of two pods that are as ready, the one with less goes first. */
const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
/** Of a replica that drains or is not wanted. Others have none, which counts as 0. */
const ENDS_FIRST = "-1000";

/** What a host of Deployments needs. */
export interface DeploymentHostOptions extends DeploymentOptions {
  readonly client: KubeClient;
  /** The epoch of this leader, which all that it writes carries. */
  readonly epoch: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Deployment extends KubeObject {
  readonly spec: { readonly replicas?: number };
}

/**
 * Replicas as pods of Deployments, one Deployment a version. Pods are told apart by an annotation that names the replica
 * each is, so that a successor of this process knows them again. Before a set shrinks, the pods that are to go are
 * marked as the first to; a field that somebody else changed is set right again.
 */
export class DeploymentHost implements ReplicaHost {
  readonly #options: DeploymentHostOptions;
  readonly #sets = new Map<VersionId, ReplicaSet | null>();
  readonly #observers = new Set<ReplicaHostObserver>();
  readonly #told = new Map<string, { readonly replica: ReplicaId; readonly version: VersionId }>();
  /** The newest start of each replica told. */
  readonly #starts = new Map<ReplicaId, { readonly uid: string; readonly epoch: number }>();
  readonly #work: KeyedWork;
  readonly #pods: ListWatch<Pod>;
  readonly #deployments: ListWatch<Deployment>;
  readonly #nodes: ListWatch<Node>;
  /** What has been listed whole since this began. */
  readonly #seen = new Set<"pods" | "deployments" | "nodes">();

  constructor(options: DeploymentHostOptions) {
    this.#options = options;
    const { client, namespace, clock, random, log } = options;
    this.#work = new KeyedWork((version) => this.#reconcile(version), { clock, random, log });
    const labelSelector = `${MARKS.managedBy}=${MANAGER},${MARKS.version}`;
    const common = { client, namespace, labelSelector, clock, random, log };
    const look = (object: KubeObject): void => this.#work.add(versionOf(object));
    this.#pods = new ListWatch<Pod>(
      { ...common, type: PODS },
      {
        changed: look,
        gone: (pod) => {
          this.#tellGone(pod);
          look(pod);
        },
        synced: () => this.#synced("pods"),
      },
    );
    this.#deployments = new ListWatch<Deployment>(
      { ...common, type: DEPLOYMENTS },
      {
        changed: look,
        gone: look,
        synced: () => this.#synced("deployments"),
      },
    );
    this.#nodes = new ListWatch<Node>(
      { client, type: NODES, namespace: null, clock, random, log },
      { changed: () => this.#tellMachine(), gone: () => this.#tellMachine(), synced: () => this.#synced("nodes") },
    );
  }

  apply(set: ReplicaSet): void {
    this.#sets.set(set.version.id, set);
    this.#work.add(set.version.id);
  }

  remove(version: VersionId): void {
    this.#sets.set(version, null);
    this.#work.add(version);
  }

  watch(observer: ReplicaHostObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** A keeper's report. */
  report(report: ReplicaReport): void {
    for (const observer of this.#observers) observer.replica(report);
  }

  /** After a list of pods all that is hosted is told, and then what the cluster has: a replica not told by then is not there. */
  #synced(what: "pods" | "deployments" | "nodes"): void {
    this.#seen.add(what);
    if (this.#seen.size < 3) return;
    for (const version of new Set([...this.#pods.objects.values()].map(versionOf))) {
      this.#tellPods(version, this.#sets.get(version)?.replicas.map((one) => one.id) ?? []);
    }
    this.#tellMachine();
  }

  #tellMachine(): void {
    if (this.#seen.size < 3) return;
    const machine = machineOf([...this.#nodes.objects.values()]);
    for (const observer of this.#observers) observer.machine(CLUSTER, machine);
  }

  close(): void {
    this.#work.close();
    this.#nodes.close();
    this.#pods.close();
    this.#deployments.close();
  }

  async #reconcile(version: VersionId): Promise<void> {
    const set = this.#sets.get(version);
    if (set === undefined) return this.#tellPods(version, []);
    if (set === null) {
      await deleteObject(this.#options.client, DEPLOYMENTS, { name: version, namespace: this.#options.namespace });
      if (this.#sets.get(version) === null && this.#podsOf(version).length === 0) this.#sets.delete(version);
      return this.#tellPods(version, []);
    }
    const wanted = set.replicas.map((one) => one.id);
    const stay = new Set(set.replicas.filter((one) => !one.draining).map((one) => one.id));
    await this.#markPods(version, wanted, stay);
    const known = this.#deployments.objects.get(`${this.#options.namespace}/${version}`);
    if (known?.spec.replicas !== set.replicas.length || known.metadata.deletionTimestamp !== undefined) {
      await applyObject(this.#options.client, DEPLOYMENTS, deploymentOf(set, this.#options.epoch, this.#options), {
        force: true,
      });
    }
    this.#tellPods(version, wanted);
  }

  /** Writes on each pod which replica it is, and whether it is the first to go. */
  async #markPods(version: VersionId, wanted: readonly ReplicaId[], stay: ReadonlySet<ReplicaId>): Promise<void> {
    const assigned = this.#assign(version, wanted);
    for (const { metadata } of this.#podsOf(version)) {
      if (metadata.deletionTimestamp !== undefined) continue;
      const replica = assigned.get(metadata.uid ?? "") ?? null;
      const cost = replica !== null && stay.has(replica) ? null : ENDS_FIRST;
      const { [MARKS.replica]: saysReplica = null, [DELETION_COST]: saysCost = null } = metadata.annotations ?? {};
      if (saysReplica === replica && saysCost === cost) continue;
      await this.#annotate(metadata.name, { [MARKS.replica]: replica, [DELETION_COST]: cost });
    }
  }

  async #annotate(name: string, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    try {
      await this.#options.client.send({
        method: "PATCH",
        path: pathOf(PODS, this.#options.namespace, name),
        contentType: "application/merge-patch+json",
        body: { metadata: { annotations } },
      });
    } catch (error) {
      // Gone meanwhile: the watch says so too.
      if (!(error instanceof KubeError && error.status === 404)) throw error;
    }
  }

  #podsOf(version: VersionId): readonly Pod[] {
    return [...this.#pods.objects.values()].filter((pod) => versionOf(pod) === version);
  }

  #assign(version: VersionId, wanted: readonly ReplicaId[]): ReadonlyMap<string, ReplicaId> {
    const pods = this.#podsOf(version).map((pod) => ({
      uid: pod.metadata.uid ?? "",
      replica: pod.metadata.annotations?.[MARKS.replica] ?? null,
      createdAtMs: createdAtMs(pod),
      ending: pod.metadata.deletionTimestamp !== undefined,
    }));
    return assignReplicas(wanted, pods);
  }

  #tellPods(version: VersionId, wanted: readonly ReplicaId[]): void {
    const assigned = this.#assign(version, wanted);
    for (const pod of this.#podsOf(version)) {
      const uid = pod.metadata.uid ?? "";
      const replica = assigned.get(uid);
      if (replica === undefined) continue;
      this.#told.set(uid, { replica, version });
      const hosted = hostedOf(pod, replica, version, MAIN_CONTAINER);
      const last = this.#starts.get(replica);
      const isOther = last !== undefined && last.uid !== uid;
      // One that ends and has a successor is told no more.
      if (isOther && pod.metadata.deletionTimestamp !== undefined) continue;
      // Pods made within one second have one creation time.
      const epoch = Math.max(hosted.epoch, (last?.epoch ?? 0) + (isOther ? 1 : 0));
      this.#starts.set(replica, { uid, epoch });
      for (const observer of this.#observers) observer.hosted({ ...hosted, epoch });
    }
  }

  /** A replica is gone with its pod, unless another pod is that replica by now. */
  #tellGone(pod: Pod): void {
    const uid = pod.metadata.uid ?? "";
    const was = this.#told.get(uid);
    this.#told.delete(uid);
    if (was === undefined || [...this.#told.values()].some((one) => one.replica === was.replica)) return;
    this.#starts.delete(was.replica);
    for (const observer of this.#observers) observer.gone(was.replica);
  }
}

const versionOf = (object: KubeObject): VersionId => object.metadata.labels?.[MARKS.version] ?? "";
