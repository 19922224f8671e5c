import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { type KubeClient, KubeError, type KubeRequest } from "./kube-client.ts";
import { type KubeObject, pathOf, type ResourceType } from "./objects.ts";

/** Times of Kubernetes' own leader elections. */
const LEASE_TIMES = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 } as const;

/**
 * A lease that is made anew counts its transitions from the seconds since 2020. One that was deleted would else begin at 1
 * again, and all that stands written under larger epochs would refuse its leaders. A leader in each second would be needed to
 * overtake the clock; the API's 32 bits last until 2088.
 */
const FIRST_EPOCH_AT_MS = Date.UTC(2020, 0, 1);

const LEASES: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/** What a process that may lead needs. */
export interface LeaderLeaseOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  /** Differs from every other process's, also from this one's after a restart. */
  readonly identity: string;
  readonly times?: { readonly durationMs: number; readonly renewDeadlineMs: number; readonly retryMs: number };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Told when this process begins and ceases to lead. */
export interface LeaderLeaseObserver {
  /** `epoch` is larger than that of any leader before. */
  leading(epoch: number): void;
  /** No later than the moment from which another may lead. */
  lost(): void;
}

/**
 * Takes part in the election of a leader by a Lease. Another's lease counts as over once it has stood unchanged for its
 * duration by this process's own monotonic clock, so that no two machines need to agree on the time.
 */
export class LeaderLease {
  readonly #options: Required<LeaderLeaseOptions>;
  readonly #observer: LeaderLeaseObserver;
  #seen: { readonly version: string | undefined; readonly atMs: number } | null = null;
  #epoch: number | null = null;
  /** The largest that this process saw, so that a lease which somebody sets back or deletes leads to larger ones still. */
  #largestEpoch = 0;
  #ticking: Promise<void>;
  #cancelTick = (): void => {};
  #cancelDeadline = (): void => {};
  #closed = false;

  constructor(options: LeaderLeaseOptions, observer: LeaderLeaseObserver) {
    this.#options = { times: LEASE_TIMES, ...options };
    this.#observer = observer;
    this.#ticking = this.#tick();
  }

  /** Ceases to lead and lets go of the lease, so that another need not wait for its end. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTick();
    this.#lose();
    // A request under way may still take the lease, or renew it behind the release.
    await this.#ticking;
    try {
      const lease = await this.#read();
      if (lease?.spec?.holderIdentity !== this.#options.identity) return;
      const { holderIdentity: _, ...spec } = lease.spec;
      await this.#write(lease, { ...spec, leaseDurationSeconds: 1 });
    } catch (error) {
      this.#options.log.debug("LEASE_NOT_RELEASED", { why: String(error) });
    }
  }

  async #tick(): Promise<void> {
    const { times, clock, random, log } = this.#options;
    try {
      await this.#acquireOrRenew();
    } catch (error) {
      // Lost a race, or the server is away: the deadline says when that ends the leadership.
      if (!(error instanceof KubeError && error.status === 409)) log.warn("LEASE_FAILED", { why: String(error) });
    }
    if (this.#closed) return;
    this.#cancelTick = clock.after(times.retryMs * (1 + random.uniform() / 5), () => {
      this.#ticking = this.#tick();
    });
  }

  async #acquireOrRenew(): Promise<void> {
    const { identity, times, clock } = this.#options;
    // The lease runs from before it was asked for: what comes later must not make it longer.
    const askedAtMs = clock.monoMs();
    const lease = await this.#read();
    if (this.#closed) return;
    const spec = lease?.spec ?? {};
    const isOwn = spec.holderIdentity === identity;
    if (!isOwn && lease !== null && !this.#isOver(lease)) {
      if (this.#epoch !== null) this.#lose();
      return;
    }
    const now = new Date(clock.wallMs()).toISOString().replace("Z", "000Z");
    const written = spec.leaseTransitions ?? Math.floor((clock.wallMs() - FIRST_EPOCH_AT_MS) / 1_000);
    this.#largestEpoch = Math.max(this.#largestEpoch, written);
    // Who lost its own lease and takes it again leads anew: what it wrote before may still be on its way.
    const continues = isOwn && this.#epoch !== null && this.#epoch === spec.leaseTransitions;
    const epoch = continues ? written : this.#largestEpoch + 1;
    await this.#write(lease, {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(times.durationMs / 1_000),
      acquireTime: continues ? (spec.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: epoch,
    });
    if (this.#closed) return;
    const restMs = times.renewDeadlineMs - (clock.monoMs() - askedAtMs);
    // An answer that comes this late says nothing of now: another may lead by it.
    if (!continues || restMs <= 0) this.#lose();
    if (restMs <= 0) return;
    this.#cancelDeadline();
    this.#cancelDeadline = clock.after(restMs, () => this.#lose());
    if (continues) return;
    this.#epoch = epoch;
    this.#options.log.info("LEADING", { epoch });
    this.#observer.leading(epoch);
  }

  /** Whether another's lease has ended: nobody holds it, or it has not changed for its duration since it was first seen so. */
  #isOver(lease: Lease): boolean {
    const nowMs = this.#options.clock.monoMs();
    if (this.#seen?.version !== lease.metadata.resourceVersion) {
      this.#seen = { version: lease.metadata.resourceVersion, atMs: nowMs };
    }
    if (!lease.spec?.holderIdentity) return true;
    const durationMs = (lease.spec.leaseDurationSeconds ?? 0) * 1_000 || this.#options.times.durationMs;
    return nowMs - (this.#seen?.atMs ?? nowMs) > durationMs;
  }

  #lose(): void {
    this.#cancelDeadline();
    if (this.#epoch === null) return;
    this.#options.log.info("NO_LONGER_LEADING", { epoch: this.#epoch });
    this.#epoch = null;
    this.#observer.lost();
  }

  async #read(): Promise<Lease | null> {
    const { namespace, name } = this.#options;
    try {
      return (await this.#send({ method: "GET", path: pathOf(LEASES, namespace, name) })) as Lease;
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return null;
      throw error;
    }
  }

  /** Writes where nobody wrote since `before` was read. Errors: KubeError `Conflict` where somebody did. */
  async #write(before: Lease | null, spec: NonNullable<Lease["spec"]>): Promise<void> {
    const { namespace, name } = this.#options;
    const resourceVersion = before?.metadata.resourceVersion;
    const metadata = { name, namespace, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
    if (before === null) await this.#send({ method: "POST", path: pathOf(LEASES, namespace), body });
    else await this.#send({ method: "PUT", path: pathOf(LEASES, namespace, name), body });
  }

  /** Asks for half the deadline at most, so that one request which hangs leaves time for another. */
  async #send(asked: KubeRequest): Promise<unknown> {
    const { client, clock, times } = this.#options;
    const limit = new AbortController();
    const limitMs = times.renewDeadlineMs / 2;
    const cancel = clock.after(limitMs, () => limit.abort(new Error(`no answer within ${limitMs} ms`)));
    try {
      return await client.send({ ...asked, signal: limit.signal });
    } finally {
      cancel();
    }
  }
}
