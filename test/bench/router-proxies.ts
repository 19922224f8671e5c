import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { nodeSettings } from "../../runtime/regions/node-command.ts";

/** A proxy under test, or the replicas without one. */
export interface BenchProxy {
  readonly name: string;
  readonly port: number;
  /** The process whose CPU and memory are counted. */
  readonly pid: number;
}

/** Requests one keep-alive connection may carry: for ever. */
const FOR_EVER = 1_000_000_000;

const folder = mkdtempSync(join(tmpdir(), "penstock-bench-"));
const children: ChildProcess[] = [];

/** Folder for the bench's own files, removed at its end. */
export const benchFolder = folder;

/** Starts a process that ends with the bench. */
export function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  children.push(child);
  return child;
}

/** Ends all that was started. */
export function stopAll(): void {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Replicas that cost as little as can be, so that the proxies set the pace: one nginx process that answers 1 KB on
 * `count` ports. The first of them, as a proxy that is none, tells what a request costs without one.
 */
export async function startReplicas(
  count: number,
): Promise<{ readonly direct: BenchProxy; readonly ports: readonly number[] }> {
  const ports: number[] = [];
  for (let index = 0; index < count; index++) ports.push(await freePort());
  const answer = "x".repeat(1_024);
  const servers = ports.map(
    (port) =>
      `server { listen 127.0.0.1:${port}; default_type application/json; location / { return 200 "${answer}"; } }`,
  );
  const { pid } = startGivingWay("nginx", nginxArgs("replicas", servers.join("\n")));
  return { direct: { name: "direct", port: ports[0]!, pid: pid! }, ports };
}

/** A router with its full path on: keys, endpoints, leases, picks, counters, sampled spans. */
export async function startPenstock(replicas: readonly number[], threads: number): Promise<BenchProxy> {
  const script = join(import.meta.dirname, "router-process.ts");
  // As the agent starts it.
  const settings = nodeSettings("router");
  const child = start(process.execPath, [...settings.args, script, String(threads), ...replicas.map(String)], {
    ...settings.env,
    BENCH_SNAPSHOT: join(folder, `snapshot-${threads}.json`),
    NODE_COMPILE_CACHE: join(folder, "compiled"),
  });
  for await (const line of createInterface({ input: child.stdout! })) {
    return { name: threads === 1 ? "penstock" : `penstock x${threads}`, port: Number(line), pid: child.pid! };
  }
  throw new Error("the router ended before it printed its port");
}

/** nginx as a proxy: one worker, least connections, kept connections, no log. */
export async function startNginxProxy(replicas: readonly number[]): Promise<BenchProxy> {
  const port = await freePort();
  const servers = replicas.map((replica) => `server 127.0.0.1:${replica};`).join(" ");
  const args = nginxArgs(
    "proxy",
    `upstream replicas { least_conn; ${servers} keepalive 128; keepalive_requests ${FOR_EVER}; }
server { listen 127.0.0.1:${port}; location / { proxy_pass http://replicas; proxy_http_version 1.1;
  proxy_set_header Connection ""; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; } }`,
  );
  return { name: "nginx", port, pid: start("nginx", args).pid! };
}

/** HAProxy with one thread, least connections, kept connections, no log. */
export async function startHaproxy(replicas: readonly number[]): Promise<BenchProxy> {
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
  return { name: "haproxy", port, pid: start("haproxy", ["-f", config, "-db"]).pid! };
}

/** Starts a process that gives way: a proxy that wakes it is not put aside for it, which would be counted as the proxy's own cost. */
export function startGivingWay(command: string, args: readonly string[]): ChildProcess {
  return start("chrt", ["--batch", "0", command, ...args]);
}

/** The nginx that serves `servers`. */
function nginxArgs(name: string, servers: string): readonly string[] {
  const home = mkdtempSync(join(folder, `${name}-`));
  const config = join(home, "nginx.conf");
  writeFileSync(
    config,
    `daemon off; master_process off; worker_processes 1; pid ${home}/pid; error_log ${home}/log;
events { worker_connections 8192; }
http { access_log off; keepalive_requests ${FOR_EVER};
  client_body_temp_path ${home}/b; proxy_temp_path ${home}/p; fastcgi_temp_path ${home}/f; uwsgi_temp_path ${home}/u; scgi_temp_path ${home}/s;
${servers}
}
`,
  );
  return ["-c", config, "-p", home];
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
