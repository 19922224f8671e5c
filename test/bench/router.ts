import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

// Compares proxies: the router with its full path on (key, lookup, lease, pick, counters), nginx and HAProxy, each in
// front of the same fake replicas, one worker or thread each, 64 keep-alive connections, 1 KB answers. CPU comes from
// /proc/PID/stat before and after. Runs are interleaved over rounds and medians taken, so that a neighbour's burst hits all.

const SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const CONNECTIONS = 64;
const REPLICAS = 4;
/** The kernel's clock ticks per second in /proc/PID/stat. */
const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

interface Proxy {
  readonly name: string;
  readonly port: number;
  /** The process whose CPU is counted. */
  readonly pid: number;
}

interface Run {
  readonly cpuUsPerRequest: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
}

/** As the agent starts its processes: compiled code is kept, so that the second router below is one in daily use. */
const KEEP_COMPILED = join(import.meta.dirname, "../../runtime/regions/keep-compiled.ts");

const folder = mkdtempSync(join(tmpdir(), "penstock-bench-"));
const children: ChildProcess[] = [];

function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  children.push(child);
  return child;
}

/** Port that a child prints as its first line. */
async function portOf(child: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: child.stdout! })) return Number(line);
  throw new Error("a process of the bench ended before it printed its port");
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function startRouter(replicas: readonly number[], threads: number): Promise<Proxy> {
  const child = start(
    process.execPath,
    [
      "--import",
      KEEP_COMPILED,
      join(import.meta.dirname, "router-process.ts"),
      String(threads),
      ...replicas.map(String),
    ],
    {
      BENCH_SNAPSHOT: join(folder, `snapshot-${threads}.json`),
      NODE_COMPILE_CACHE: join(folder, "compiled"),
    },
  );
  return { name: "penstock", port: await portOf(child), pid: child.pid! };
}

async function startNginx(replicas: readonly number[]): Promise<Proxy> {
  const port = await freePort();
  const config = join(folder, "nginx.conf");
  writeFileSync(
    config,
    `daemon off; master_process off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 1000000000;
  client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  upstream replicas { least_conn; ${replicas.map((replica) => `server 127.0.0.1:${replica};`).join(" ")} keepalive 128; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://replicas; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; } } }
`,
  );
  const child = start("nginx", ["-c", config, "-p", folder]);
  return { name: "nginx", port, pid: child.pid! };
}

async function startHaproxy(replicas: readonly number[]): Promise<Proxy> {
  const port = await freePort();
  const config = join(folder, "haproxy.cfg");
  writeFileSync(
    config,
    `global
  nbthread 1
  maxconn 8192
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  option forwardfor
  http-reuse always
frontend in
  bind 127.0.0.1:${port}
  default_backend replicas
backend replicas
  balance leastconn
${replicas.map((replica, index) => `  server r${index} 127.0.0.1:${replica}`).join("\n")}
`,
  );
  const child = start("haproxy", ["-f", config, "-db"]);
  return { name: "haproxy", port, pid: child.pid! };
}

function cpuUsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
}

function rssMiBOf(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) / 1024;
}

const script = join(folder, "request.lua");
writeFileSync(
  script,
  `wrk.method = "POST"
wrk.body = '{"inputs": [[5.1, 3.5, 1.4, 0.2]]}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer bench-key"
done = function(summary, latency, requests)
  io.write(string.format("RESULT %d %d %f %f %d\\n", summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status + summary.errors.timeout))
end
`,
);

/** Loads a port for some seconds with closed-loop connections. */
async function wrk(
  port: number,
  connections: number,
  seconds: number,
): Promise<Omit<Run, "cpuUsPerRequest"> & { requests: number }> {
  const url = `http://127.0.0.1:${port}/serving-endpoints/bench/invocations`;
  const child = start("wrk", ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, url]);
  let text = "";
  for await (const piece of child.stdout!) text += String(piece);
  const result = /RESULT (\d+) (\d+) ([\d.]+) ([\d.]+) (\d+)/.exec(text);
  if (result === null) throw new Error(`wrk said nothing of its result:\n${text}`);
  const [requests = 0, durationUs = 0, p50Us = 0, p99Us = 0, errors = 0] = result.slice(1).map(Number);
  return {
    requests,
    requestsPerSecond: requests / (durationUs / 1e6),
    p50Ms: p50Us / 1_000,
    p99Ms: p99Us / 1_000,
    errors,
  };
}

async function measure(proxy: Proxy): Promise<Run> {
  const before = cpuUsOf(proxy.pid);
  const { requests, ...rest } = await wrk(proxy.port, CONNECTIONS, SECONDS);
  return { cpuUsPerRequest: (cpuUsOf(proxy.pid) - before) / requests, ...rest };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

const format = (value: number, digits = 2) => value.toFixed(digits).padStart(11);

async function main(): Promise<void> {
  const replicas: number[] = [];
  for (let index = 0; index < REPLICAS; index++) {
    replicas.push(await portOf(start(process.execPath, [join(import.meta.dirname, "router-replica.ts")])));
  }
  const router = await startRouter(replicas, 1);
  const proxies = [router, await startNginx(replicas), await startHaproxy(replicas)];
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (const proxy of proxies) await wrk(proxy.port, CONNECTIONS, 2);
  const runs = new Map<string, Run[]>(proxies.map((proxy) => [proxy.name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const proxy of round % 2 === 0 ? proxies : proxies.toReversed())
      runs.get(proxy.name)!.push(await measure(proxy));
  }
  // Few connections keep every proxy well below its knee: what each adds to an answer, beside no proxy at all.
  const light: Record<string, { p50Ms: number; p99Ms: number }[]> = {
    direct: [],
    penstock: [],
    nginx: [],
    haproxy: [],
  };
  for (let round = 0; round < ROUNDS; round++) {
    light.direct!.push(await wrk(replicas[0]!, 4, SECONDS));
    for (const proxy of proxies) light[proxy.name]!.push(await wrk(proxy.port, 4, SECONDS));
  }
  const lightOf = (name: string, key: "p50Ms" | "p99Ms") => median(light[name]!.map((run) => run[key]));
  const of = (name: string, key: keyof Run) => median(runs.get(name)!.map((run) => run[key]));
  console.log("proxy      us CPU/request      req/s     p50 ms     p99 ms   +p50 ms*   +p99 ms*   errors");
  for (const { name } of proxies) {
    const added = (key: "p50Ms" | "p99Ms") => lightOf(name, key) - lightOf("direct", key);
    console.log(
      `${name.padEnd(12)}${format(of(name, "cpuUsPerRequest"))}${format(of(name, "requestsPerSecond"), 0)}${format(of(name, "p50Ms"))}${format(of(name, "p99Ms"))}${format(added("p50Ms"))}${format(added("p99Ms"))}${format(of(name, "errors"), 0)}`,
    );
  }
  console.log(`* added at light load (4 connections), against the replica without a proxy`);
  const pair = await startRouter(replicas, 2);
  await wrk(pair.port, CONNECTIONS, SECONDS);
  const figures = {
    cpuUsPerRequest: of("penstock", "cpuUsPerRequest"),
    cpuRatioToNginx: of("penstock", "cpuUsPerRequest") / of("nginx", "cpuUsPerRequest"),
    cpuRatioToHaproxy: of("penstock", "cpuUsPerRequest") / of("haproxy", "cpuUsPerRequest"),
    requestsPerSecond: of("penstock", "requestsPerSecond"),
    p50AddedMs: lightOf("penstock", "p50Ms") - lightOf("direct", "p50Ms"),
    p99AddedMs: lightOf("penstock", "p99Ms") - lightOf("direct", "p99Ms"),
    rssMiB: rssMiBOf(pair.pid),
    errors: runs.get("penstock")!.reduce((sum, run) => sum + run.errors, 0),
  };
  console.log(
    JSON.stringify({
      bench: "router",
      figures: Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Number(value.toFixed(3))])),
    }),
  );
}

try {
  await main();
} finally {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
