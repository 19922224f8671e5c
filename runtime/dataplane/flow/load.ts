import type { ReplicaLoad, VersionLoad } from "../../domain/load.ts";
import type { FlowMemory } from "./memory.ts";
import type { SlotPlan } from "./slots.ts";

/** Rows of a LoadReport. Main thread only: it also starts a new interval of the peaks. */
export declare function readLoad(
  memory: FlowMemory,
  plan: SlotPlan,
  nowMs: number,
): { versions: VersionLoad[]; replicas: ReplicaLoad[] };

/** Clears a dead thread's rows: its in-flight and queued requests are counted as failed, its counters go to the departed row. Main thread only, after the thread has ended and before another takes its number. */
export declare function retireThread(memory: FlowMemory, thread: number, nowMs: number): void;
