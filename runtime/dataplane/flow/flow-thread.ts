// API sketch, being filled in: signatures are final.
import type { EndpointName } from "../../domain/names.ts";
import type { Asked, FaultKind, FaultVerdict, Lease, Moved, Outcome, Refusal } from "./lease.ts";
import type { FlowMemory } from "./memory.ts";
import type { SlotPlan } from "./slots.ts";

type Uniform = () => number;

/** One thread's flow tables. All methods are synchronous; `nowMs` is of the one clock that all threads share. */
export declare class FlowThread<R extends Asked> {
  constructor(memory: FlowMemory, thread: number, uniform: Uniform);
  /** Cell to wait on with Atomics.waitAsync: it changes when another thread freed room for this one. */
  readonly doorbell: { readonly cells: Int32Array; readonly index: number };
  /** Takes a newer plan (an older one is ignored). Call takeReady after it. */
  applyPlan(plan: SlotPlan, nowMs: number): void;
  /** A lease that is charged (`seat` set) or waits (`seat` null), or why there is none. Call takeReady after a waiting one. */
  admit(endpoint: EndpointName, request: R, nowMs: number): Lease<R> | Refusal;
  /** The next waiting lease that just got a seat, or null. */
  takeReady(nowMs: number): Lease<R> | null;
  /** The next waiting lease whose time is up, settled as turned away, or null. */
  takeExpired(nowMs: number): Lease<R> | null;
  /** When takeReady and takeExpired must be called even if nothing happens; Infinity when nothing waits. */
  wakeAtMs(nowMs: number): number;
  /** An answer that is no fault has begun. */
  firstByte(lease: Lease<R>, nowMs: number): void;
  /** A further piece of the answer came; optional, at most each 100 ms: it keeps time-outs of others from counting as faults. */
  progressed(lease: Lease<R>, nowMs: number): void;
  fault(lease: Lease<R>, kind: FaultKind, nowMs: number): FaultVerdict;
  /** After a fault: to another replica, or into the queue, if attempts (2), the budget (20 %) and the request allow it. */
  retry(lease: Lease<R>, progress: { readonly sent: boolean; readonly answerBegun: boolean }, nowMs: number): Moved;
  /** The replica refused at its own cap: no fault, no retry counted. */
  refused(lease: Lease<R>, nowMs: number): Moved;
  settle(lease: Lease<R>, outcome: Outcome, nowMs: number): void;
}
