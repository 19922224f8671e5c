import type { BoardView } from "../../domain/board.ts";
import { endpointOfVersion, type VersionId, versionOfReplica } from "../../domain/names.ts";
import { rolledVersion } from "../../domain/rollout.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ReplicaHost } from "../../ports/replica-host.ts";

/** Sets are applied again this often, so that a lost message heals. */
const REPEAT_MS = 10_000;

/** The hand that brings replica sets to the host. Applying the same set twice changes nothing there. */
export class HostHand {
  readonly #board: BoardView;
  readonly #host: ReplicaHost;
  readonly #clock: Clock;
  #cancel: () => void = () => {};

  constructor(board: BoardView, host: ReplicaHost, clock: Clock) {
    this.#board = board;
    this.#host = host;
    this.#clock = clock;
  }

  start(): void {
    this.#cancel = this.#clock.after(REPEAT_MS, () => {
      for (const version of this.#board.keys("replicaSet")) this.changed(version);
      for (const replica of this.#board.keys("hosted")) this.seen(replica);
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
  }

  /** A version's replica set changed or went. */
  changed(version: VersionId): void {
    const set = this.#board.get("replicaSet", version);
    if (set.kind === "known") this.#host.apply(set.value);
    else this.#host.remove(version);
  }

  /** The host told of a replica: one whose version no rollout names and no set holds is left over from a deleted endpoint. */
  seen(replica: string): void {
    const version = versionOfReplica(replica);
    if (this.#board.get("replicaSet", version).kind === "known") return;
    const rollout = this.#board.get("rollout", endpointOfVersion(version));
    if (rollout.kind === "missing" || rolledVersion(rollout.value, version) === null) this.#host.remove(version);
  }
}
