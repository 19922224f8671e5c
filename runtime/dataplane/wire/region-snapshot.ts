import type { Snapshot } from "../../domain/snapshot.ts";

/** What a router holds before it was ever told anything: no endpoints, and keys asked for. */
export const EMPTY_SNAPSHOT: Snapshot = {
  generation: { incarnation: 0, number: 0 },
  endpoints: [],
  versions: [],
  keys: [],
  keysRequired: true,
};
