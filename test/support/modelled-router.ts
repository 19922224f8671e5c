import type { ToRouter } from "../../runtime/contract/wire/messages.ts";
import { exponential, splitUniform, type Uniform } from "../../runtime/core/prng.ts";
import { emptyLatencyBuckets, type RouterLoad } from "../../runtime/domain/load.ts";
import { applyDiff, compareGenerations, type Snapshot, type SnapshotVersion } from "../../runtime/domain/snapshot.ts";
import type { FakeClock } from "./fake-clock.ts";
import type { ModelledHost, ModelledReplica } from "./modelled-host.ts";

/** Mean service time: 40 requests a second keep 6 in flight, which takes two or three replicas. */
const SERVICE_MS = 150;
const NO_BUCKETS: readonly number[] = emptyLatencyBuckets();

/** What a router says; the region carries it to the controller. */
export interface RouterMouth {
  load(load: Omit<RouterLoad, "receivedAtMs">): void;
  wake(version: string): void;
  hello(holds: Snapshot["generation"] | null): void;
}

interface Counts {
  readonly endpoint: string;
  arrivals: number;
  completed: number;
  inFlight: number;
  inFlightMsTotal: number;
  queuedMsTotal: number;
  serviceMsTotal: number;
}

/** A router that serves modelled requests by its last snapshot: least in flight, hard cap, one queue per endpoint. */
export class ModelledRouter {
  readonly name: string;
  readonly #clock: FakeClock;
  readonly #host: ModelledHost;
  readonly #mouth: RouterMouth;
  readonly #uniform: Uniform;
  readonly #counts = new Map<string, Counts>();
  readonly #inFlight = new Map<string, number>();
  readonly #queues = new Map<string, number>();
  #snapshot: Snapshot | null = null;
  #seq = 0;
  #lastIntegralMs = 0;

  constructor(options: {
    readonly name: string;
    readonly seed: number;
    readonly clock: FakeClock;
    readonly host: ModelledHost;
    readonly mouth: RouterMouth;
  }) {
    this.name = options.name;
    this.#clock = options.clock;
    this.#host = options.host;
    this.#mouth = options.mouth;
    this.#uniform = splitUniform(options.seed, options.name);
    this.#reportLoop();
  }

  get snapshot(): Snapshot | null {
    return this.#snapshot;
  }

  get queued(): number {
    return [...this.#queues.values()].reduce((sum, count) => sum + count, 0);
  }

  get completed(): number {
    return [...this.#counts.values()].reduce((sum, counts) => sum + counts.completed, 0);
  }

  take(message: ToRouter): void {
    if (message.kind === "snapshot") {
      if (this.#snapshot === null || compareGenerations(message.snapshot.generation, this.#snapshot.generation) > 0)
        this.#hold(message.snapshot);
      return;
    }
    const held = this.#snapshot;
    if (held !== null && compareGenerations(message.to, held.generation) <= 0) return;
    const next = held === null ? null : applyDiff(held, message);
    if (next === null) this.#mouth.hello(held?.generation ?? null);
    else this.#hold(next);
  }

  /** A request arrives. */
  request(endpoint: string): void {
    this.#queues.set(endpoint, (this.#queues.get(endpoint) ?? 0) + 1);
    const version = this.#dispatch(endpoint);
    if (version === null) return;
    this.#countsOf(version, endpoint).arrivals += 1;
    if ((this.#queues.get(endpoint) ?? 0) === 1) {
      this.#report();
      this.#mouth.wake(version);
    }
  }

  #hold(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    for (const endpoint of this.#queues.keys()) this.#dispatch(endpoint);
  }

  /** Sends what waits as far as there is room; returns the version that the last request was for. */
  #dispatch(endpoint: string): string | null {
    const split = this.#snapshot?.endpoints.find((row) => row.name === endpoint)?.split ?? [];
    if (split.length === 0) return null;
    let chosen: string | null = null;
    while ((this.#queues.get(endpoint) ?? 0) > 0) {
      chosen = this.#draw(split);
      const version = this.#snapshot?.versions.find((row) => row.id === chosen);
      if (version === undefined || !this.#send(version)) break;
      this.#queues.set(endpoint, (this.#queues.get(endpoint) ?? 1) - 1);
    }
    return chosen ?? this.#draw(split);
  }

  #draw(split: readonly { readonly version: string; readonly weight: number }[]): string {
    let at = this.#uniform() * 100;
    for (const { version, weight } of split) {
      at -= weight;
      if (at < 0) return version;
    }
    return split.at(-1)?.version ?? "";
  }

  #send(version: SnapshotVersion): boolean {
    const room = version.replicas
      .filter((replica) => !replica.draining && this.#host.accepts(replica.id, replica.epoch))
      .map((replica) => ({ replica, inFlight: this.#inFlight.get(replica.id) ?? 0 }))
      .filter(({ inFlight }) => inFlight < version.hardCap)
      .sort((a, b) => a.inFlight - b.inFlight)[0];
    const process = room === undefined ? undefined : this.#host.replicas.get(room.replica.id);
    if (process === undefined) return false;
    this.#serve(process, version);
    return true;
  }

  #serve(replica: ModelledReplica, { id: version, endpoint }: SnapshotVersion): void {
    const { epoch } = replica;
    const counts = this.#countsOf(version, endpoint);
    const serviceMs = exponential(this.#uniform, SERVICE_MS);
    this.#integrate();
    replica.inFlight += 1;
    counts.inFlight += 1;
    this.#inFlight.set(replica.id, (this.#inFlight.get(replica.id) ?? 0) + 1);
    this.#clock.after(serviceMs, () => {
      this.#integrate();
      counts.inFlight -= 1;
      counts.completed += 1;
      counts.serviceMsTotal += serviceMs;
      this.#inFlight.set(replica.id, (this.#inFlight.get(replica.id) ?? 1) - 1);
      if (replica.epoch === epoch && replica.inFlight > 0) {
        replica.inFlight -= 1;
        replica.completed += 1;
      }
      this.#dispatch(endpoint);
    });
  }

  #countsOf(version: string, endpoint: string): Counts {
    const fresh = { endpoint, arrivals: 0, completed: 0, inFlight: 0, inFlightMsTotal: 0, queuedMsTotal: 0 };
    const counts = this.#counts.get(version) ?? { ...fresh, serviceMsTotal: 0 };
    this.#counts.set(version, counts);
    return counts;
  }

  #integrate(): void {
    const spanMs = this.#clock.monoMs() - this.#lastIntegralMs;
    this.#lastIntegralMs = this.#clock.monoMs();
    for (const [version, counts] of this.#counts) {
      counts.inFlightMsTotal += counts.inFlight * spanMs;
      counts.queuedMsTotal += this.#queuedFor(version, counts.endpoint) * spanMs;
    }
  }

  /** What waits for an endpoint counts for the version with most of its traffic. */
  #queuedFor(version: string, endpoint: string): number {
    const split = this.#snapshot?.endpoints.find((row) => row.name === endpoint)?.split ?? [];
    const first = split.toSorted((a, b) => b.weight - a.weight)[0];
    return first?.version === version ? (this.#queues.get(endpoint) ?? 0) : 0;
  }

  #reportLoop(): void {
    this.#clock.after(1_000, () => {
      this.#report();
      this.#reportLoop();
    });
  }

  #report(): void {
    this.#integrate();
    this.#seq += 1;
    const listed = new Map(
      (this.#snapshot?.versions ?? []).flatMap((row) => row.replicas).map((replica) => [replica.id, replica.draining]),
    );
    const busy = [...this.#inFlight].filter(([id, count]) => count > 0 && !listed.has(id));
    const rows = [...listed, ...busy.map(([id]): [string, boolean] => [id, true])];
    this.#mouth.load({
      router: this.name,
      epoch: 1,
      seq: this.#seq,
      routerMonoMs: this.#clock.monoMs(),
      snapshotGeneration: this.#snapshot?.generation ?? null,
      memoryBytes: null,
      versions: [...this.#counts].map(([version, counts]) => this.#rowOf(version, counts)),
      replicas: rows.map(([replica, draining]) => ({
        replica,
        epoch: 1,
        inFlight: this.#inFlight.get(replica) ?? 0,
        draining,
        ejected: false,
        faultsTotal: 0,
      })),
    });
  }

  #rowOf(version: string, counts: Counts) {
    return {
      version,
      ...counts,
      failed: 0,
      turnedAwayForCapacity: 0,
      clientGone: 0,
      retries: 0,
      queued: this.#queuedFor(version, counts.endpoint),
      serviceMsBuckets: NO_BUCKETS,
      firstByteMsBuckets: NO_BUCKETS,
      firstByteMsTotal: 0,
    };
  }
}
