import type { Uniform } from "../core/prng.ts";

/** One modelled replica: asked for at `startedAtMs`, ready at `readyAtMs`. */
export interface ModelReplica {
  readonly id: string;
  readonly epoch: number;
  readonly startedAtMs: number;
  readonly readyAtMs: number;
  cpuMsTotal: number;
}

/** How long a start takes; a draw per replica. */
export type StartDelay = (uniform: Uniform) => number;

/** The same delay for every start. */
export function fixedStart(delayMs: number): StartDelay {
  return () => delayMs;
}

/** Delays spread evenly between two values. */
export function spreadStart(leastMs: number, mostMs: number): StartDelay {
  return (uniform) => leastMs + (mostMs - leastMs) * uniform();
}

/** Modelled replicas of one version, made and removed to match a wanted count; those not ready yet go first. */
export class ModelFleet {
  readonly #version: string;
  readonly #start: StartDelay;
  readonly #uniform: Uniform;
  #replicas: ModelReplica[] = [];
  #next = 0;
  /** Replica-milliseconds so far: what the fleet costs. */
  replicaMsTotal = 0;

  constructor(version: string, start: StartDelay, uniform: Uniform) {
    this.#version = version;
    this.#start = start;
    this.#uniform = uniform;
  }

  get replicas(): readonly ModelReplica[] {
    return this.#replicas;
  }

  /** Replicas ready at `atMs`. */
  readyAt(atMs: number): readonly ModelReplica[] {
    return this.#replicas.filter((replica) => replica.readyAtMs <= atMs);
  }

  /** Makes or removes replicas until `wanted` exist. */
  apply(wanted: number, atMs: number): void {
    while (this.#replicas.length < wanted) {
      const readyAtMs = atMs + this.#start(this.#uniform);
      const id = `${this.#version}-${this.#next++}`;
      this.#replicas.push({ id, epoch: 1, startedAtMs: atMs, readyAtMs, cpuMsTotal: 0 });
    }
    if (this.#replicas.length > wanted) {
      this.#replicas = this.#replicas.toSorted((a, b) => a.readyAtMs - b.readyAtMs).slice(0, wanted);
    }
  }

  /** Loses replicas at once, as a failed machine does. */
  lose(count: number): void {
    this.#replicas.splice(0, count);
  }

  tick(stepMs: number): void {
    this.replicaMsTotal += this.#replicas.length * stepMs;
  }
}
