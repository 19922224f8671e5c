import type { BoardView } from "../../domain/board.ts";
import { REGION_KEY } from "../../domain/board.ts";
import { compareGenerations } from "../../domain/snapshot.ts";
import type { EndpointView } from "./endpoint-view.ts";
import { valueOrNull } from "./value-or-null.ts";

/** Routers report each second; five missed ones are a silence worth a word. */
const SILENT_MS = 5_000;
/** Under this share of memory left the kernel may soon end a replica. */
const LOW_MEMORY_RATIO = 0.1;

/** One finding: what was looked at, how it stands, what to do. */
export interface Check {
  readonly name: string;
  readonly verdict: "pass" | "warn" | "fail";
  readonly message: string;
  readonly todo: string | null;
}

/** What the Board says of the region's health, as a list of findings. */
export function viewChecks(board: BoardView, endpoints: readonly EndpointView[], nowMonoMs: number): Check[] {
  return [...routerChecks(board, nowMonoMs), ...machineChecks(board, endpoints), ...endpoints.flatMap(endpointChecks)];
}

function routerChecks(board: BoardView, nowMonoMs: number): Check[] {
  const routers = board.keys("routerLoad");
  if (routers.length === 0) {
    return [say("routers", "fail", "no router has reported", "Look at `penstock logs --source router`.")];
  }
  const published = valueOrNull(board.get("snapshot", REGION_KEY))?.generation ?? null;
  return routers.flatMap((key) => {
    const load = valueOrNull(board.get("routerLoad", key));
    if (load === null) return [];
    const name = `router ${key}`;
    const silentMs = nowMonoMs - load.receivedAtMs;
    if (silentMs > SILENT_MS) {
      const message = `silent for ${Math.round(silentMs / 1_000)} s`;
      return [say(name, "fail", message, "Look at `penstock logs --source router`.")];
    }
    const holds = load.snapshotGeneration;
    const behind = published !== null && (holds === null || compareGenerations(holds, published) < 0);
    return [
      behind
        ? say(name, "warn", "reports, but does not hold the newest snapshot yet", "Run the doctor again in a moment.")
        : say(name, "pass", "reports and holds the newest snapshot"),
    ];
  });
}

function machineChecks(board: BoardView, endpoints: readonly EndpointView[]): Check[] {
  const names = board.keys("machine");
  if (names.length === 0) return [say("agent", "fail", "no machine has reported", "Is `penstock up` still running?")];
  const checks: Check[] = [];
  let cpuCount = 0;
  for (const name of names) {
    const machine = valueOrNull(board.get("machine", name));
    if (machine === null) continue;
    cpuCount += machine.cpuCount;
    const left = machine.memoryAvailableBytes / machine.memoryBytes;
    const message = `${Math.round(left * 100)} % of ${gibibytes(machine.memoryBytes)} free`;
    checks.push(
      left < LOW_MEMORY_RATIO
        ? say(`memory of ${name}`, "warn", message, "Lower `max` of an endpoint, or free memory.")
        : say(`memory of ${name}`, "pass", message),
    );
  }
  const allotted = endpoints
    .flatMap((endpoint) => endpoint.versions)
    .reduce((sum, version) => sum + version.scale.existing * version.run.cpuCount, 0);
  const message = `replicas are allotted ${allotted} of ${cpuCount} cores`;
  checks.push(
    allotted > cpuCount
      ? say("cpu", "warn", message, "They share cores and slow each other down; lower --cpu or `min`.")
      : say("cpu", "pass", message),
  );
  return checks;
}

function endpointChecks({ name, status, load, spec }: EndpointView): Check[] {
  const label = `endpoint ${name}`;
  if (status.word === "failed") return [say(label, "fail", status.reason, status.todo)];
  if (status.word === "degraded") return [say(label, "warn", status.reason, status.todo)];
  if (load.turnedAwayRps > 0) {
    const message = `turns away ${load.turnedAwayRps.toFixed(1)} requests/s`;
    return [
      say(label, "warn", message, `Raise its bound, now ${spec.concurrency.max}: penstock scale ${name} --max N.`),
    ];
  }
  return [say(label, "pass", `${status.word}: ${status.reason}`)];
}

function gibibytes(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

function say(name: string, verdict: Check["verdict"], message: string, todo: string | null = null): Check {
  return { name, verdict, message, todo };
}
