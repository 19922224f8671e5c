import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { EndpointView } from "../../runtime/operate/views/endpoint-view.ts";

const PENSTOCK = join(import.meta.dirname, "..", "..", "cli", "penstock.ts");
/** Marks every process that a test's region brings forth: children inherit the environment, whatever group they are in. */
const MARK = "PENSTOCK_TEST_REGION";
/** How often a condition that no event tells is looked at. */
const LOOK_MS = 50;

/** What a program wrote and how it ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A region to be started. */
export interface RegionSetup {
  /** Content of the region file, or null for the examples that `penstock up` runs by itself. */
  readonly file: object | null;
  /** A folder that outlives the region, or null for one that `end` removes. */
  readonly dataDir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** A real region as `penstock up` runs it, in processes of its own, on a free port. */
export class TestRegion {
  readonly dataDir: string;
  readonly #folder: string;
  readonly #setup: RegionSetup;
  readonly #mark = randomUUID();
  #process: ChildProcess | null = null;
  #output = "";
  #url = "";

  private constructor(setup: RegionSetup) {
    this.#setup = setup;
    this.#folder = mkdtempSync(join(tmpdir(), "penstock-e2e-"));
    this.dataDir = setup.dataDir ?? join(this.#folder, "data");
  }

  /** Starts a region and resolves once it answers; with `settled`, once each endpoint is ready or has failed. */
  static async start(setup: RegionSetup, { settled = true } = {}): Promise<TestRegion> {
    const region = new TestRegion(setup);
    await region.up({ settled });
    return region;
  }

  get url(): string {
    return this.#url;
  }

  /** What `penstock up` has written since its last start. */
  get output(): string {
    return this.#output;
  }

  /** Process id of `penstock up`, the parent of all. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Starts it (again) on its data folder. Rejects with what it wrote where it ends instead. */
  async up({ settled = true } = {}): Promise<void> {
    this.#output = "";
    const child = spawn(process.execPath, [PENSTOCK, "up", ...this.#args()], {
      env: { ...process.env, ...this.#setup.env, [MARK]: this.#mark },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#process = child;
    const sign = settled ? /^Ctrl-C ends the region\.$/m : /serves at/;
    const exited = once(child, "exit").then(() => {
      throw new Error(`penstock up ended:\n${this.#output}`);
    });
    const heard = new Promise<void>((resolve) => {
      const listen = (chunk: Buffer): void => {
        this.#output += chunk.toString();
        if (sign.test(this.#output)) resolve();
      };
      child.stdout.on("data", listen);
      child.stderr.on("data", listen);
    });
    await Promise.race([heard, exited]);
    exited.catch(() => {});
    this.#url = /serves at (\S+)/.exec(this.#output)?.[1] ?? "";
  }

  #args(): string[] {
    const { file, args = [] } = this.#setup;
    const base = ["--port", "0", "--data-dir", this.dataDir, ...args];
    if (file === null) return base;
    const path = join(this.#folder, "region.yaml");
    // JSON is YAML.
    writeFileSync(path, JSON.stringify(file));
    return [...base, "--config", path];
  }

  /** Ends it in order; resolves with its exit code. */
  async stop(): Promise<number | null> {
    return this.#endBy("SIGTERM");
  }

  /** Ends its parent process without a warning, as a crash would. */
  async kill(): Promise<void> {
    await this.#endBy("SIGKILL");
  }

  async #endBy(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#process;
    this.#process = null;
    if (child === null) return null;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, "exit");
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  }

  /** For afterAll: whatever still runs is killed, and the folder removed. */
  async end(): Promise<void> {
    await this.kill();
    await until("no process of the region is left", () => this.processes().length === 0);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Ids of all processes that the region brought forth and that still run, of whatever parent and group. */
  processes(): number[] {
    return runningWith(`${MARK}=${this.#mark}`);
  }

  /** Ids and processes of controller, router and replicas, as the region itself records them. */
  children(): { readonly id: string; readonly pid: number }[] {
    try {
      return JSON.parse(readFileSync(join(this.dataDir, "run.json"), "utf8")).children;
    } catch {
      return [];
    }
  }

  /** Process id of the first child whose id starts so; 0 where there is none. */
  pidOf(start: string): number {
    return this.children().find((child) => child.id.startsWith(start))?.pid ?? 0;
  }

  /** Text of one process's log. */
  log(id: string): string {
    return readFileSync(join(this.dataDir, "logs", `${id}.log`), "utf8");
  }

  /** Runs the CLI against this region. */
  penstock(...args: readonly string[]): Promise<Ended> {
    return runPenstock(args, { PENSTOCK_URL: this.#url });
  }

  /** The same for a command that must succeed; resolves with what `--json` printed. */
  async penstockJson<T>(...args: readonly string[]): Promise<T> {
    const { code, stdout, stderr } = await this.penstock(...args, "--json");
    if (code !== 0) throw new Error(`penstock ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
    return JSON.parse(stdout) as T;
  }

  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(`${this.#url}${path}`, init);
  }

  /** Posts JSON (or text as it is) and reads the answer whole. */
  async post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const response = await this.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  }

  /** An endpoint as the API shows it. */
  async endpoint(name: string): Promise<EndpointView> {
    const response = await this.fetch(`/api/v1/endpoints/${name}`);
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as EndpointView;
  }

  /** Resolves once the endpoint is as wanted. */
  async whenEndpoint(name: string, what: string, is: (view: EndpointView) => boolean): Promise<EndpointView> {
    let seen: EndpointView | null = null;
    await until(`endpoint ${name} ${what}`, async () => {
      seen = await this.endpoint(name).catch(() => null);
      return seen !== null && is(seen);
    });
    return seen as unknown as EndpointView;
  }

  /** Sum of a metric over all its series whose labels contain `labels`. */
  async metric(name: string, labels = ""): Promise<number> {
    const response = await this.fetch("/metrics");
    if (!response.ok) throw new Error(`/metrics answers ${response.status}`);
    const lines = (await response.text()).split("\n");
    const rows = lines.filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
    if (rows.length === 0) throw new Error(`/metrics has no ${name} ${labels}`);
    return rows.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  /** Resolves once no request is held anywhere: no lease in a router, none waiting, none in an engine. */
  async whenIdle(): Promise<void> {
    await until("no request is in flight, waiting or inside a replica", async () => {
      try {
        const { endpoints } = (await (await this.fetch("/api/v1/endpoints")).json()) as { endpoints: EndpointView[] };
        const inReplicas = endpoints
          .flatMap(({ replicas }) => replicas)
          .reduce((sum, one) => sum + (one.inFlight ?? 0), 0);
        const held =
          (await this.metric("penstock_requests_in_flight")) + (await this.metric("penstock_requests_queued"));
        return inReplicas === 0 && held === 0;
      } catch {
        // The controller is on its way back.
        return false;
      }
    });
  }
}

/** An HTTP answer, read whole. `body` is null where it is no JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests look at
  readonly body: any;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Runs the CLI to its end. */
export async function runPenstock(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const child = spawn(process.execPath, [PENSTOCK, ...args], {
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return ended(child);
}

/** Gathers what a program writes until it ends. */
export async function ended(child: ChildProcess): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

/**
 * Resolves once the condition holds. The bound is far beyond what anything here takes and decides no pass: it makes a
 * hang a failure that says what was waited for.
 */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  boundMs = 240_000,
): Promise<void> {
  const startedAtMs = performance.now();
  while (!(await condition())) {
    if (performance.now() - startedAtMs > boundMs) throw new Error(`still not so after ${boundMs / 1_000} s: ${what}`);
    await sleep(LOOK_MS);
  }
}

/** Whether a process runs; one that has ended and that nobody has waited for does not. */
export function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("Z");
  } catch {
    return false;
  }
}

/** Children of a process, and theirs. */
export function descendantsOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const text = readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  });
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** How many sockets listen on a port of 127.0.0.1. */
export function listenersOn(port: number): number {
  const LISTEN = "0A";
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  return rows.filter(([, local, , state]) => local === address && state === LISTEN).length;
}

function runningWith(variable: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => environmentHas(pid, variable) && isRunning(pid));
}

function environmentHas(pid: number, variable: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(variable);
  } catch {
    // It has ended meanwhile.
    return false;
  }
}

/** A folder for a test's own files. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "penstock-e2e-files-"));
  mkdirSync(folder, { recursive: true });
  return folder;
}
