import type { BoardView } from "../../runtime/domain/board.ts";
import { endpointOfVersion } from "../../runtime/domain/names.ts";
import type { LiveBoard } from "../../runtime/driver/board.ts";
import type { FakeClock } from "./fake-clock.ts";
import type { HostEvents, ModelledHost, ModelledReplica } from "./modelled-host.ts";

/** Memory that replicas may take of the modelled machine (16 GiB, 90 % of it), at 1 GiB each. */
const MAX_REPLICAS = 14;

/** Watches a region from outside and notes every broken rule. It looks at what is real in the model, not at what is believed. */
export class Checker implements HostEvents {
  readonly violations: string[] = [];
  readonly #clock: FakeClock;
  readonly #everReady = new Set<string>();
  readonly #reachedFloor = new Set<string>();
  readonly #drainingSinceMs = new Map<string, number>();
  #board: LiveBoard | null = null;
  #host: ModelledHost | null = null;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  /** Follows the Board of a new controller process. */
  watch(board: LiveBoard, host: ModelledHost): void {
    this.#board = board;
    this.#host = host;
    board.subscribe((fact, key) => {
      if (this.#board !== board) return;
      if (fact === "rollout") this.#checkRollout(board, key);
      if (fact === "replicaSet") this.#checkSet(board, key);
      if (fact === "route") this.#checkRoute(board, key);
    });
  }

  violation(what: string): void {
    this.violations.push(`${Math.round(this.#clock.monoMs())} ms: ${what}`);
  }

  ready(replica: ModelledReplica): void {
    this.#everReady.add(replica.version.id);
  }

  ended(replica: ModelledReplica): void {
    const spec = this.#board?.get("spec", replica.version.endpoint);
    const graceMs = spec?.kind === "known" ? spec.value.timeouts.requestMs : 60_000;
    const sinceMs = this.#drainingSinceMs.get(replica.id) ?? this.#clock.monoMs();
    const inGrace = this.#clock.monoMs() - sinceMs < graceMs;
    if (replica.inFlight > 0 && inGrace)
      this.violation(`${replica.id} was ended with ${replica.inFlight} requests in flight`);
  }

  #checkRollout(board: BoardView, endpoint: string): void {
    const rollout = board.get("rollout", endpoint);
    if (rollout.kind === "missing") return;
    const { versions } = rollout.value;
    const sum = versions.reduce((total, rolled) => total + rolled.weight, 0);
    if (sum !== 0 && sum !== 100) this.violation(`weights of ${endpoint} sum to ${sum}`);
    for (const { version, weight } of versions) {
      if (weight > 0 && !this.#everReady.has(version.id)) this.violation(`traffic for ${version.id}, never ready`);
    }
  }

  #checkSet(board: BoardView, version: string): void {
    const set = board.get("replicaSet", version);
    const replicas = set.kind === "known" ? set.value.replicas : [];
    for (const { id, draining } of replicas) {
      if (!draining) this.#drainingSinceMs.delete(id);
      else if (!this.#drainingSinceMs.has(id)) this.#drainingSinceMs.set(id, this.#clock.monoMs());
    }
    this.#checkFloor(board, version, replicas.filter((replica) => !replica.draining).length);
    const running = [...(this.#host?.replicas.values() ?? [])].filter((replica) => replica.state !== "stopping");
    if (running.length > MAX_REPLICAS) this.violation(`${running.length} replicas run, ${MAX_REPLICAS} fit`);
  }

  /** A version that serves an endpoint with provisioned concurrency never goes below one replica once it had one. */
  #checkFloor(board: BoardView, version: string, live: number): void {
    const endpoint = endpointOfVersion(version);
    const spec = board.get("spec", endpoint);
    const rollout = board.get("rollout", endpoint);
    const rolled =
      rollout.kind === "known"
        ? rollout.value.versions.find((candidate) => candidate.version.id === version)
        : undefined;
    const isHeld = spec.kind === "known" && spec.value.concurrency.min > 0 && rolled?.phase === "serving";
    if (!isHeld) {
      this.#reachedFloor.delete(version);
      return;
    }
    if (live >= 1) this.#reachedFloor.add(version);
    else if (this.#reachedFloor.has(version)) this.violation(`${version} serves with no replica wanted`);
  }

  #checkRoute(board: BoardView, endpoint: string): void {
    const route = board.get("route", endpoint);
    const split = route.kind === "known" ? (route.value.endpoint?.split ?? []) : [];
    const sum = split.reduce((total, part) => total + part.weight, 0);
    if (split.length > 0 && sum !== 100) this.violation(`split of ${endpoint} sums to ${sum}`);
  }
}
