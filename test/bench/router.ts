import { setTimeout as sleep } from "node:timers/promises";
import { closedLoop, openLoop, type Round } from "./router-load.ts";
import {
  type BenchProxy,
  startHaproxy,
  startNginxProxy,
  startPenstock,
  startReplicas,
  stopAll,
} from "./router-proxies.ts";
import { residentMiBOf } from "./support/processes.ts";
import { report, step } from "./support/report.ts";

// Compares proxies in front of the same replicas: the router with its full path on (key, lookup, lease, pick, counters),
// nginx and HAProxy, one worker or thread each, 64 kept connections, answers of 1 KB. Rounds of a second take turns, so
// that a neighbour's burst hits all; a figure is the median over rounds, a ratio the median of ratios within rounds.

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const ROUND_SECONDS = 1;
const CONNECTIONS = 64;
const REPLICAS = 4;
/** Until V8 has compiled what is hot: the cost of a request falls to a third within the first 100,000. */
const WARM_SECONDS = 8;
/** A router is whole once its thread in reserve has loaded too, which begins a second after it listens. */
const RESERVE_MS = 3_000;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

const column = (value: number, digits = 2): string => value.toFixed(digits).padStart(11);

/** Rounds of each proxy in turn, every second time in the opposite order; what came before a proxy is not always the same. */
async function compare<R>(
  proxies: readonly BenchProxy[],
  round: (proxy: BenchProxy) => Promise<R>,
): Promise<Map<BenchProxy, R[]>> {
  const rounds = new Map<BenchProxy, R[]>(proxies.map((proxy) => [proxy, []]));
  for (let number = 0; number < ROUNDS; number++) {
    for (const proxy of number % 2 === 0 ? proxies : proxies.toReversed()) rounds.get(proxy)!.push(await round(proxy));
  }
  return rounds;
}

/** Median over rounds of one reading. */
function over<R>(rounds: readonly R[] | undefined, read: (round: R) => number): number {
  return median((rounds ?? []).map(read));
}

/** Median over rounds of one proxy's reading beside another's in the same round. */
function paired<R>(rounds: Map<BenchProxy, R[]>, a: BenchProxy, b: BenchProxy, join: (a: R, b: R) => number): number {
  const others = rounds.get(b)!;
  return median(rounds.get(a)!.map((round, index) => join(round, others[index]!)));
}

function printTable(proxies: readonly BenchProxy[], rounds: Map<BenchProxy, Round[]>): void {
  console.log("proxy      us CPU/request   (least)      req/s     p50 ms     p99 ms   switches     errors");
  for (const proxy of proxies) {
    const of = (read: (round: Round) => number): number => over(rounds.get(proxy), read);
    const least = Math.min(...rounds.get(proxy)!.map((round) => round.cpuUsPerRequest));
    const errors = rounds.get(proxy)!.reduce((sum, round) => sum + round.errors, 0);
    const cells = [column(of((round) => round.cpuUsPerRequest)), column(least).slice(1)];
    cells.push(
      column(
        of((round) => round.requestsPerSecond),
        0,
      ),
      column(of((round) => round.p50Ms)),
    );
    cells.push(column(of((round) => round.p99Ms)), column(of((round) => round.switchesPerRequest)), column(errors, 0));
    console.log(`${proxy.name.padEnd(12)}${cells.join("")}`);
  }
}

async function main(): Promise<void> {
  const { direct, ports } = await startReplicas(REPLICAS);
  const router = await startPenstock(ports, 1);
  const nginx = await startNginxProxy(ports);
  const haproxy = await startHaproxy(ports);
  step("warming up");
  await closedLoop(router, CONNECTIONS, WARM_SECONDS);
  // Started once the first one has kept what it compiled, so that it is measured as in daily use.
  const pair = await startPenstock(ports, 2);
  await sleep(RESERVE_MS);
  const idleMiB = residentMiBOf(pair.pid);
  await closedLoop(pair, CONNECTIONS, WARM_SECONDS);
  for (const proxy of [nginx, haproxy]) await closedLoop(proxy, CONNECTIONS, 1);

  step(`${ROUNDS} rounds under full load`);
  const proxies = [router, pair, nginx, haproxy];
  const full = await compare(proxies, (proxy) => closedLoop(proxy, CONNECTIONS, ROUND_SECONDS));
  printTable(proxies, full);
  const cpuRatio = (a: BenchProxy, b: BenchProxy): number =>
    paired(full, a, b, (x, y) => x.cpuUsPerRequest / y.cpuUsPerRequest);
  const requestsPerSecond = over(full.get(router), (round) => round.requestsPerSecond);

  const rate = Math.round(requestsPerSecond / 2);
  step(`${ROUNDS} rounds of ${rate} requests/s, half of what one router thread carries, open loop`);
  const proxied = [direct, router, nginx, haproxy];
  const half = await compare(proxied, (proxy) => openLoop(proxy, rate, ROUND_SECONDS));
  for (const proxy of proxied.slice(1)) {
    const added = (read: "p50Ms" | "p99Ms"): string =>
      paired(half, proxy, direct, (x, y) => x[read] - y[read]).toFixed(3);
    console.log(`${proxy.name.padEnd(12)} adds ${added("p50Ms")} ms at p50, ${added("p99Ms")} ms at p99`);
  }
  const errorsOf = (rounds: readonly { readonly errors: number }[]): number =>
    rounds.reduce((sum, round) => sum + round.errors, 0);

  report("router", {
    cpuUsPerRequest: over(full.get(router), (round) => round.cpuUsPerRequest),
    cpuRatioToNginx: cpuRatio(router, nginx),
    cpuRatioToHaproxy: cpuRatio(router, haproxy),
    twoThreadsCpuRatioToNginx: cpuRatio(pair, nginx),
    requestsPerSecond,
    p50AddedMs: paired(half, router, direct, (x, y) => x.p50Ms - y.p50Ms),
    p99AddedMs: paired(half, router, direct, (x, y) => x.p99Ms - y.p99Ms),
    idleRssMiB: idleMiB,
    rssMiB: residentMiBOf(pair.pid),
    errors: errorsOf([...full.get(router)!, ...full.get(pair)!, ...half.get(router)!]),
  });
}

try {
  await main();
} finally {
  stopAll();
}
