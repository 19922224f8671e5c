import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { cacheDir, modelsDir } from "../../../test/mlflow/models-dir.ts";
import { systemClock } from "../../adapters/clock.ts";
import { HEADERS } from "../../contract/names.ts";
import type { RunSettings } from "../../domain/version.ts";
import { makeEnvironment } from "../../packaging/environment.ts";
import type { RunningEngine } from "../contract.ts";
import { freePort, isAlive, launchOf, PLAIN_RUN } from "../custom/fixtures.ts";
import { readCounts } from "../replica-counters.ts";
import { startMlflow } from "./engine.ts";

const MISSING = existsSync(join(modelsDir, "expected.json"))
  ? ""
  : " (skipped: the models are not there; make them with `node bin/bootstrap.mjs run test/tools.ts`)";

/** The part of a model's metadata that tells the request saved with it. */
interface Metadata {
  readonly parameters: { readonly example_request: unknown };
}

/** Bounds a wait for something that will come; how long it takes decides nothing. */
const SOON = { timeout: 120_000, interval: 20 };
const JSON_TYPE = { "content-type": "application/json" };

interface Expected {
  readonly columns: readonly string[];
  readonly data: readonly (readonly number[])[];
  readonly predictions: readonly number[];
}

describe.skipIf(MISSING !== "")(`MLflow models${MISSING}`, { timeout: 300_000 }, () => {
  let dataDir: string;
  let expected: Readonly<Record<"sklearn" | "xgboost", Expected>>;
  const started: RunningEngine[] = [];
  const lines: string[] = [];

  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), "penstock-mlflow-"));
    mkdirSync(join(dataDir, "run"));
    expected = JSON.parse(readFileSync(join(modelsDir, "expected.json"), "utf8")) as typeof expected;
  });

  afterAll(async () => {
    for (const engine of started) engine.kill("SIGKILL");
    await Promise.all(started.map(({ exited }) => exited));
    for (const pid of zygotes()) process.kill(pid, "SIGKILL");
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Process ids of the zygotes of this data folder. */
  function zygotes(): readonly number[] {
    return pidsWith(`${join(dataDir, "run")}/zygote-`);
  }

  async function environmentOf(name: string): Promise<string> {
    // The locks that were made with the models: nothing is resolved and nothing fetched here.
    const context = { cacheDir, clock: systemClock, signal: new AbortController().signal, onProgress: () => {} };
    const { hash } = await makeEnvironment(join(modelsDir, name), modelsDir, context);
    return hash;
  }

  async function start(name: string, run: Partial<RunSettings> = {}): Promise<RunningEngine> {
    const environmentHash = await environmentOf(name);
    linkEnvironments();
    const engine = await startMlflow({
      launch: launchOf("mlflow", {
        run: { ...PLAIN_RUN, ...run },
        artifactPath: join(modelsDir, name),
        environmentHash,
        dataDir,
      }),
      environment: process.env,
      scratchDir: mkdtempSync(join(dataDir, "scratch-")),
      probeSecret: "secret",
      port: await freePort(),
      log: (line) => lines.push(line),
    });
    started.push(engine);
    await vi.waitFor(async () => expect((await get(engine, "/ping")).ok, lines.join("\n")).toBe(true), SOON);
    return engine;
  }

  /** The data folder of the test sees the environments that were made with the models. */
  function linkEnvironments(): void {
    const link = join(dataDir, "environments");
    if (!existsSync(link)) symlinkSync(join(modelsDir, "environments"), link);
  }

  test.each(["sklearn", "xgboost"] as const)(
    "%s answers as the model does in the process that trained it",
    async (name) => {
      const engine = await start(name);
      const { columns, data, predictions } = expected[name];
      const answer = await post(engine, "/invocations", { dataframe_split: { columns, data } });
      expect(answer).toEqual({ status: 200, body: { predictions } });
      const records = data.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])));
      expect((await post(engine, "/invocations", { dataframe_records: records })).body).toEqual({ predictions });
      const v2 = {
        inputs: [{ name: "rows", shape: [data.length, columns.length], datatype: "FP64", data: data.flat() }],
      };
      const { parameters } = (await (await get(engine, "/v2/models/any")).json()) as Metadata;
      const example = await post(engine, "/invocations", parameters.example_request);
      expect(example).toMatchObject({ status: 200, body: { predictions: [expect.any(Number)] } });
      const inferred = await post(engine, "/v2/models/any/infer", v2);
      expect(inferred.body).toMatchObject({ model_name: "any", outputs: [{ name: "predict", data: predictions }] });
    },
  );

  test("binary tensors of the v2 protocol come back as the same numbers", async () => {
    const engine = await start("sklearn");
    const { columns, data, predictions } = expected.sklearn;
    const tensors = columns.map((_, column) => Buffer.from(Float64Array.from(data, (row) => row[column]!).buffer));
    const head = Buffer.from(
      JSON.stringify({
        inputs: columns.map((name, column) => ({
          name,
          shape: [data.length, 1],
          datatype: "FP64",
          parameters: { binary_data_size: tensors[column]!.length },
        })),
        parameters: { binary_data_output: true },
      }),
    );
    const answer = await fetch(url(engine, "/v2/models/any/infer"), {
      method: "POST",
      headers: { "inference-header-content-length": String(head.length) },
      body: Buffer.concat([head, ...tensors]),
    });
    const bytes = await answer.bytes();
    const jsonBytes = Number(answer.headers.get("inference-header-content-length"));
    const { outputs } = JSON.parse(Buffer.from(bytes.subarray(0, jsonBytes)).toString()) as { outputs: unknown[] };
    expect(outputs).toMatchObject([{ datatype: "INT64", shape: [50], parameters: { binary_data_size: 50 * 8 } }]);
    expect([...new BigInt64Array(bytes.slice(jsonBytes).buffer)].map(Number)).toEqual(predictions);
  });

  test("the client's mistakes are 400 in the shape of each door", async () => {
    const engine = await start("sklearn");
    const wrongColumn = { dataframe_split: { columns: ["petals"], data: [[1]] } };
    expect(await post(engine, "/invocations", wrongColumn)).toMatchObject({
      status: 400,
      body: { error_code: "INVALID_PARAMETER_VALUE", message: expect.stringContaining("sepal length (cm)") },
    });
    const [missing, shape, datatype] = await Promise.all([
      post(engine, "/v2/models/any/infer", { inputs: [{ name: "petals", shape: [1], datatype: "FP64", data: [1] }] }),
      post(engine, "/v2/models/any/infer", { inputs: [{ name: "a", shape: [3], datatype: "FP64", data: [1] }] }),
      post(engine, "/v2/models/any/infer", { inputs: [{ name: "a", shape: [1], datatype: "FP65", data: [1] }] }),
    ]);
    expect(missing).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("inputs are missing: sepal") },
    });
    expect(shape).toMatchObject({ status: 400, body: { error: expect.stringContaining("of shape [3]") } });
    expect(datatype).toMatchObject({ status: 400, body: { error: expect.stringContaining("'FP65' is none of") } });
  });

  test("its cap is kept by an instant refusal, which the keeper's own requests pass; counters end at zero in flight", async () => {
    const engine = await start("waits", { maxInFlight: 1 });
    const counts = () => readCounts(engine.countersFiles.map(readSlots), engine.classes);
    const long = post(engine, "/invocations", { dataframe_split: { columns: ["milliseconds"], data: [[2000]] } });
    await vi.waitFor(() => expect(counts().classes[0]?.startedTotal).toBe(1), SOON);
    const refused = await fetch(url(engine, "/invocations"), { method: "POST", headers: JSON_TYPE, body: "{}" });
    expect([refused.status, refused.headers.get(HEADERS.refused)]).toEqual([503, "1"]);
    const probe = engine.probes.canaries[0]!;
    const own = await fetch(url(engine, probe.path), {
      method: "POST",
      headers: { ...probe.headers, [HEADERS.probe]: "secret" },
      body: probe.body as string,
    });
    expect(own.status).toBe(200);
    expect((await long).status).toBe(200);
    await vi.waitFor(() => expect(counts().classes[0]?.finishedTotal).toBe(1), SOON);
    expect(counts()).toMatchObject({
      refusedTotal: 1,
      classes: [{ startedTotal: 1, failedTotal: 0, progressTotal: 1 }],
      // It has neither sequences nor tokens nor batches: unknown, and not 0.
      sequencesWaiting: null,
      kvUseRatio: null,
      tokensTotal: null,
      batchesTotal: null,
    });
  });

  test("SIGTERM lets a request end and then exits with 0", async () => {
    const engine = await start("waits");
    const long = post(engine, "/invocations", { dataframe_split: { columns: ["milliseconds"], data: [[500]] } });
    await vi.waitFor(() => expect(readSlots(engine.countersFiles[0]!)[16]).toBe(1), SOON);
    engine.kill("SIGTERM");
    expect((await long).status).toBe(200);
    expect(await engine.exited).toEqual({ code: 0, signal: null });
  });

  test("replicas of one environment share a zygote, and each has a worker per core", async () => {
    const [first, second] = [await start("sklearn"), await start("sklearn", { cpuCount: 2 })];
    expect(first.countersFiles).toHaveLength(1);
    expect(second.countersFiles).toHaveLength(2);
    const parents = [first, second].map((engine) => parentOf(engine.rootPids()[0]!));
    // One worker per core has one thread each, so that both have the same settings.
    expect(parents[0]).toBe(parents[1]);
    expect(zygotes()).toContain(parents[0]);
  });

  test("a keeper that is killed takes its replica along and leaves the zygote; an agent that is killed takes the zygote along", async () => {
    const environmentHash = await environmentOf("sklearn");
    linkEnvironments();
    const ownDir = mkdtempSync(join(dataDir, "region-"));
    symlinkSync(join(modelsDir, "environments"), join(ownDir, "environments"));
    const made = { run: PLAIN_RUN, artifactPath: join(modelsDir, "sklearn"), environmentHash, dataDir: ownDir };
    mkdirSync(join(ownDir, "run"));
    mkdirSync(join(ownDir, "scratch"));
    const context = {
      launch: launchOf("mlflow", made),
      scratchDir: join(ownDir, "scratch"),
      probeSecret: "secret",
      port: await freePort(),
    };
    const keeper = `
      import { startMlflow } from ${JSON.stringify(join(import.meta.dirname, "engine.ts"))};
      const engine = await startMlflow({ ...${JSON.stringify(context)}, environment: process.env, log: () => {} });
      console.log(process.pid, engine.rootPids()[0]);
      setInterval(() => {}, 1000);`;
    // The shell stands for the agent: the keeper's parent, which stays when the keeper has ended.
    const agent = spawn("sh", ["-c", '"$0" --input-type=module -e "$1"; read -r _', process.execPath, keeper], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [keeperPid = 0, replicaPid = 0] = await firstLine(agent);
    const zygotePid = parentOf(replicaPid);
    process.kill(keeperPid, "SIGKILL");
    await vi.waitFor(() => expect(isAlive(replicaPid)).toBe(false), SOON);
    expect(isAlive(zygotePid)).toBe(true);
    agent.kill("SIGKILL");
    await vi.waitFor(() => expect(isAlive(zygotePid)).toBe(false), SOON);
  });
});

function url(engine: RunningEngine, path: string): string {
  return `http://${engine.address.host}:${engine.address.port}${path}`;
}

function get(engine: RunningEngine, path: string): Promise<Response> {
  return fetch(url(engine, path));
}

async function post(engine: RunningEngine, path: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url(engine, path), { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}

function readSlots(file: string): Float64Array {
  return existsSync(file) ? new Float64Array(new Uint8Array(readFileSync(file)).buffer) : new Float64Array();
}

function firstLine(child: ChildProcess): Promise<number[]> {
  return new Promise((resolve) => {
    child.stdout?.once("data", (text: Buffer) => resolve(text.toString().trim().split(" ").map(Number)));
  });
}

function parentOf(pid: number): number {
  // The name in the second field may hold spaces; the parent is the second field after it.
  return Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1]);
}

/** Processes whose command line holds `text`. */
function pidsWith(text: string): readonly number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}
