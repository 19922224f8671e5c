import type { ToAgent, ToController } from "../contract/wire/messages.ts";
import { type ReplicaId, type VersionId, versionOfReplica } from "../domain/names.ts";
import type { ReplicaReport, ReplicaSet } from "../domain/replica.ts";
import type { ReplicaHost, ReplicaHostObserver } from "../ports/replica-host.ts";
import type { Peer } from "./controller-server.ts";

/** What an agent says. */
export type FromAgent = Extract<ToController, { readonly kind: "hosted" | "gone" | "machine" }>;

/**
 * Replicas as processes under the agent of this machine. The agent is the one that keeps them alive, also while this
 * side or the connection is away; what was asked meanwhile is said again when it dials in.
 */
export class ProcessHost implements ReplicaHost {
  readonly #sets = new Map<VersionId, ReplicaSet>();
  readonly #removed = new Set<VersionId>();
  readonly #observers = new Set<ReplicaHostObserver>();
  #agent: Peer | null = null;
  #hosted = new Set<ReplicaId>();
  /** Replicas that the agent knew on its last connection and has not named on this one. */
  #unconfirmed = new Set<ReplicaId>();

  apply(set: ReplicaSet): void {
    this.#sets.set(set.version.id, set);
    this.#removed.delete(set.version.id);
    this.#say({ kind: "replicaSet", set });
  }

  remove(version: VersionId): void {
    this.#sets.delete(version);
    this.#removed.add(version);
    this.#say({ kind: "removeVersion", version });
  }

  watch(observer: ReplicaHostObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** The agent has dialled in: it hears all that was asked of it, and then says all that it hosts. */
  connected(agent: Peer): void {
    this.#agent = agent;
    this.#unconfirmed = new Set(this.#hosted);
    for (const version of this.#removed) this.#say({ kind: "removeVersion", version });
    for (const set of this.#sets.values()) this.#say({ kind: "replicaSet", set });
  }

  disconnected(agent: Peer): void {
    if (this.#agent === agent) this.#agent = null;
  }

  /** A message of the agent called `name`. The first `machine` on a connection says that all replicas have been named. */
  receive(name: string, message: FromAgent): void {
    if (message.kind === "hosted") {
      this.#hosted.add(message.replica.id);
      this.#unconfirmed.delete(message.replica.id);
      for (const observer of this.#observers) observer.hosted(message.replica);
    } else if (message.kind === "gone") {
      this.#forget(message.replica);
    } else {
      for (const replica of this.#unconfirmed) this.#forget(replica);
      this.#unconfirmed = new Set();
      this.#forgetRemoved();
      for (const observer of this.#observers) observer.machine(name, message.machine);
    }
  }

  /** A keeper's report. */
  report(report: ReplicaReport): void {
    for (const observer of this.#observers) observer.replica(report);
  }

  /** A removed version that the agent hosts nothing of needs no further word, so that their number stays bounded. */
  #forgetRemoved(): void {
    const hosted = new Set([...this.#hosted].map(versionOfReplica));
    for (const version of this.#removed) if (!hosted.has(version)) this.#removed.delete(version);
  }

  #forget(replica: ReplicaId): void {
    this.#hosted.delete(replica);
    for (const observer of this.#observers) observer.gone(replica);
  }

  #say(message: ToAgent): void {
    this.#agent?.send(message);
  }
}
