import type { VersionId } from "../../domain/names.ts";
import type { Address } from "../../domain/replica.ts";
import type { RequestSpan } from "../../ports/tap.ts";
import type { SlotPlan } from "../flow/slots.ts";

/** What a router thread is started with. */
export interface ThreadStart {
  readonly thread: number;
  readonly memory: SharedArrayBuffer;
  readonly plan: SlotPlan;
  readonly listen: Address;
  readonly apiSocket: string;
  /** Spans are wanted. */
  readonly tapping: boolean;
  readonly seed: number;
}

/** Main to thread. */
export type ToThread =
  /** `beats`: one cell a thread, which it counts up as long as its event loop turns. */
  | { readonly kind: "start"; readonly start: ThreadStart; readonly beats: Int32Array }
  | { readonly kind: "plan"; readonly plan: SlotPlan }
  | { readonly kind: "stop" };

/** Thread to main. */
export type FromThread =
  | { readonly kind: "listening" }
  | { readonly kind: "wake"; readonly version: VersionId }
  | { readonly kind: "spans"; readonly spans: readonly RequestSpan[] }
  | { readonly kind: "stopped" };
