import { endpointOfVersion } from "../domain/names.ts";
import type { HostedReplica, Machine, ReplicaReport } from "../domain/replica.ts";
import { rolledVersion } from "../domain/rollout.ts";
import type { Clock } from "../ports/clock.ts";
import type { ReplicaHostObserver } from "../ports/replica-host.ts";
import type { Board, FactWriter } from "./board.ts";

/** A report of a replica that no host knows is forgotten after this: it came late, or its host is yet to say so. */
const STRAY_MS = 60_000;

/** Writes what hosts and keepers report on the Board; what an older start of a replica says late is ignored. */
export class ReplicaFacts implements ReplicaHostObserver {
  readonly #board: Board;
  readonly #clock: Clock;
  readonly #hosted: FactWriter<"hosted">;
  readonly #replica: FactWriter<"replica">;
  readonly #loadTime: FactWriter<"loadTime">;
  readonly #machine: FactWriter<"machine">;
  #cancel: () => void = () => {};

  constructor(board: Board, clock: Clock) {
    this.#board = board;
    this.#clock = clock;
    this.#hosted = board.writer("hosted");
    this.#replica = board.writer("replica");
    this.#loadTime = board.writer("loadTime");
    this.#machine = board.writer("machine");
  }

  start(): void {
    this.#cancel = this.#clock.after(STRAY_MS, () => {
      this.#forgetStrays();
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
  }

  hosted(replica: HostedReplica): void {
    if (!this.#isOld("hosted", replica)) this.#hosted.set(replica.id, replica);
  }

  gone(id: string): void {
    this.#hosted.remove(id);
    this.#replica.remove(id);
  }

  replica(report: ReplicaReport): void {
    if (this.#isOld("replica", report)) return;
    this.#replica.set(report.id, report);
    this.#noteLoad(report);
  }

  machine(name: string, machine: Machine): void {
    this.#machine.set(name, machine);
  }

  /** Kept as a running maximum: rollouts ask for it at each decision, and would else each read every replica of the region. */
  #noteLoad({ version: id, startupMs }: ReplicaReport): void {
    if (startupMs === null) return;
    const rollout = this.#board.get("rollout", endpointOfVersion(id));
    const version = rollout.kind === "known" ? rolledVersion(rollout.value, id)?.version : undefined;
    if (version === undefined) return;
    const { runtime, artifact } = version;
    const longest = this.#board.get("loadTime", runtime);
    if (longest.kind === "known" && longest.value.startupMs >= startupMs) return;
    this.#loadTime.set(runtime, { runtime, startupMs, sizeBytes: artifact.sizeBytes });
  }

  #isOld(fact: "hosted" | "replica", report: { readonly id: string; readonly epoch: number }): boolean {
    const last = this.#board.get(fact, report.id);
    return last.kind === "known" && last.value.epoch > report.epoch;
  }

  #forgetStrays(): void {
    const nowMs = this.#clock.monoMs();
    for (const id of this.#board.keys("replica")) {
      const report = this.#board.get("replica", id);
      const isStray = this.#board.get("hosted", id).kind === "missing";
      if (isStray && report.kind === "known" && nowMs - report.atMs > STRAY_MS) this.#replica.remove(id);
    }
  }
}
