import type { Scope } from "../core/controller.ts";
import { type BoardView, type FactName, REGION_KEY } from "../domain/board.ts";
import { endpointOfVersion, versionOfReplica } from "../domain/names.ts";
import { rolledVersion } from "../domain/rollout.ts";

type Keyed = "endpoint" | "version" | "replica" | "router" | "machine" | "runtime" | "region";

/** What the keys of each fact name. */
const KEYED_BY: Readonly<Record<FactName, Keyed>> = {
  spec: "endpoint",
  prepared: "endpoint",
  rollout: "endpoint",
  wanted: "version",
  granted: "version",
  replicaSet: "version",
  route: "endpoint",
  snapshot: "region",
  replica: "replica",
  hosted: "replica",
  loadTime: "runtime",
  machine: "machine",
  routerLoad: "router",
  keys: "region",
};

/** Keys that a change touches; `all` where it may touch any. */
type Touched = readonly string[] | "all";

/** The keys of a scope that a change of (fact, key) touches; an endpoint's change touches all versions of its rollout. */
export function touchedBy(board: BoardView, scope: Scope, fact: FactName, key: string): Touched {
  if (scope === "region") return [REGION_KEY];
  switch (KEYED_BY[fact]) {
    case "endpoint":
      return scope === "endpoint" ? [key] : versionsOf(board, key);
    case "version":
      return [scope === "endpoint" ? endpointOfVersion(key) : key];
    case "replica": {
      const version = versionOfReplica(key);
      return [scope === "endpoint" ? endpointOfVersion(version) : version];
    }
    case "router": {
      const load = board.get("routerLoad", key);
      if (load.kind === "missing") return "all";
      return load.value.versions.map((row) => (scope === "endpoint" ? row.endpoint : row.version));
    }
    default:
      return "all";
  }
}

/** The keys of a scope that exist: endpoints that somebody wants or that still have versions; versions of rollouts. */
export function existingKeys(board: BoardView, scope: Scope): readonly string[] {
  if (scope === "region") return [REGION_KEY];
  if (scope === "endpoint") return [...new Set([...board.keys("spec"), ...board.keys("rollout")])].sort();
  return board.keys("rollout").flatMap((endpoint) => versionsOf(board, endpoint));
}

/** Whether a key of a scope exists, as existingKeys has it. */
export function exists(board: BoardView, scope: Scope, key: string): boolean {
  if (scope === "region") return true;
  if (scope === "endpoint")
    return board.get("spec", key).kind === "known" || board.get("rollout", key).kind === "known";
  const rollout = board.get("rollout", endpointOfVersion(key));
  return rollout.kind === "known" && rolledVersion(rollout.value, key) !== null;
}

function versionsOf(board: BoardView, endpoint: string): readonly string[] {
  const rollout = board.get("rollout", endpoint);
  return rollout.kind === "known" ? rollout.value.versions.map((rolled) => rolled.version.id) : [];
}
