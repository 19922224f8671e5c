import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseProfile } from "../../cli/load/profile.ts";
import { runLoad } from "../../cli/load/threads.ts";
import { type BenchProxy, benchFolder, startGivingWay } from "./router-proxies.ts";

/** What one round of closed-loop load showed of a proxy. */
export interface Round {
  readonly cpuUsPerRequest: number;
  readonly switchesPerRequest: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
}

/** What one round of open-loop load showed. */
export interface LatencyRound {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
}

/** The path, body and headers of every request of the bench. */
const PATH = "/serving-endpoints/bench/invocations";
const BODY = '{"inputs": [[5.1, 3.5, 1.4, 0.2]]}';
const KEY = "bench-key";

const script = join(benchFolder, "request.lua");
writeFileSync(
  script,
  `wrk.method = "POST"
wrk.body = '${BODY}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer ${KEY}"
done = function(summary, latency, requests)
  local errors = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status + summary.errors.timeout
  io.write(string.format("RESULT %d %d %f %f %d\\n", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), errors))
end
`,
);

/** Loads a proxy by wrk for some seconds, each connection sending its next request when it has its answer. */
export async function closedLoop(proxy: BenchProxy, connections: number, seconds: number): Promise<Round> {
  const before = usageOf(proxy.pid);
  const url = `http://127.0.0.1:${proxy.port}${PATH}`;
  const wrk = startGivingWay("wrk", ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, url]);
  let text = "";
  for await (const piece of wrk.stdout!) text += String(piece);
  const after = usageOf(proxy.pid);
  const result = /RESULT (\d+) (\d+) ([\d.]+) ([\d.]+) (\d+)/.exec(text);
  if (result === null) throw new Error(`wrk said nothing of its result:\n${text}`);
  const [requests = 0, durationUs = 0, p50Us = 0, p99Us = 0, errors = 0] = result.slice(1).map(Number);
  return {
    cpuUsPerRequest: (after.cpuUs - before.cpuUs) / requests,
    switchesPerRequest: (after.switches - before.switches) / requests,
    requestsPerSecond: requests / (durationUs / 1e6),
    p50Ms: p50Us / 1_000,
    p99Ms: p99Us / 1_000,
    errors,
  };
}

/** Sends requests at a rate, each when it is due, and measures from then. The same schedule for every proxy. */
export async function openLoop(proxy: BenchProxy, rate: number, seconds: number): Promise<LatencyRound> {
  const plan = {
    host: "127.0.0.1",
    port: proxy.port,
    path: PATH,
    headers: { "content-type": "application/json", authorization: `Bearer ${KEY}` },
    body: BODY,
    profile: parseProfile(`${rate}:${seconds}s`),
    arrivals: "poisson",
    seed: 1,
    maxConnections: 256,
    timeoutMs: 10_000,
    streamed: false,
  } as const;
  const tally = await runLoad(plan, 1).finished;
  return {
    p50Ms: tally.latency.quantileMs(0.5) ?? 0,
    p99Ms: tally.latency.quantileMs(0.99) ?? 0,
    errors: tally.sent - tally.good,
  };
}

/**
 * CPU time and context switches of all threads of a process. From /proc/PID/task/*: the scheduler's own nanoseconds,
 * where /proc/PID/stat has ticks of 10 ms, too coarse for rounds of a second.
 */
function usageOf(pid: number): { readonly cpuUs: number; readonly switches: number } {
  let cpuUs = 0;
  let switches = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    cpuUs += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]) / 1_000;
    const status = readFileSync(`/proc/${pid}/task/${task}/status`, "utf8");
    for (const count of status.matchAll(/ctxt_switches:\s+(\d+)/g)) switches += Number(count[1]);
  }
  return { cpuUs, switches };
}
