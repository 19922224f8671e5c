import type { ReplicaReport } from "../../domain/replica.ts";

interface CpuReading {
  readonly epoch: number;
  readonly cpuMsTotal: number;
  readonly atMs: number;
  readonly cores: number | null;
}

/** CPU use of replicas, as differences of their cumulative counters, and wake-ups of versions from zero. */
export class ReplicaMeter {
  readonly #cpu = new Map<string, CpuReading>();
  /** What a version was last seen as; one that was never ready yet is in neither. */
  readonly #awake = new Map<string, boolean>();
  readonly #coldStarts = new Map<string, number>();

  /** Takes a replica's newest report, received at `atMs` (monotonic). */
  readReplica(report: ReplicaReport, atMs: number): void {
    const before = this.#cpu.get(report.id);
    const { epoch } = report;
    const { cpuMsTotal } = report.resources;
    if (before?.epoch !== epoch) {
      this.#cpu.set(report.id, { epoch, cpuMsTotal, atMs, cores: null });
    } else if (atMs > before.atMs) {
      this.#cpu.set(report.id, {
        epoch,
        cpuMsTotal,
        atMs,
        cores: (cpuMsTotal - before.cpuMsTotal) / (atMs - before.atMs),
      });
    }
  }

  /** CPU cores the replica used between its last two reports, or null before there are two. */
  cpuCores(replica: string): number | null {
    return this.#cpu.get(replica)?.cores ?? null;
  }

  /** Takes the number of ready replicas of a version that has traffic. Its first replica ever is a rollout; any later rise from 0 is a cold start. */
  readReady(version: string, ready: number): void {
    const wasAwake = this.#awake.get(version);
    if (wasAwake === false && ready > 0) this.#coldStarts.set(version, this.coldStarts(version) + 1);
    if (wasAwake !== undefined || ready > 0) this.#awake.set(version, ready > 0);
  }

  /** Wake-ups from zero since the controller started. */
  coldStarts(version: string): number {
    return this.#coldStarts.get(version) ?? 0;
  }

  /** Forgets replicas and versions that are gone. */
  retain(replicas: ReadonlySet<string>, versions: ReadonlySet<string>): void {
    for (const id of this.#cpu.keys()) if (!replicas.has(id)) this.#cpu.delete(id);
    for (const map of [this.#awake, this.#coldStarts]) {
      for (const id of map.keys()) if (!versions.has(id)) map.delete(id);
    }
  }
}
