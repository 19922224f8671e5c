import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { EndpointView } from "../../runtime/operate/views/endpoint-view.ts";
import { findTestModel } from "../../runtime/serving/gguf/test-model.ts";
import { findClientPython } from "../clients/python.ts";
import { modelsDir } from "../mlflow/models-dir.ts";
import { ended, isRunning, scratchFolder, TestRegion, until } from "./region.ts";
import { SteadyLoad } from "./steady-load.ts";
import { HOW_TO_GET } from "./tools.ts";

const python = findClientPython();
const gguf = findTestModel();
const isMissing = python === null || gguf === null || !existsSync(join(modelsDir, "expected.json"));
const MISSING = isMissing ? ` (skipped: ${HOW_TO_GET})` : "";
const EXAMPLES = join(import.meta.dirname, "..", "..", "examples");

/** What a model answered in the process that trained it. */
interface InProcess {
  readonly columns: readonly string[];
  readonly data: readonly (readonly number[])[];
  readonly predictions: readonly number[];
}

interface Deployed {
  readonly endpoint: string;
  readonly version: string;
  readonly weight: number;
}

describe.skipIf(MISSING !== "")(`penstock deploy${MISSING}`, { timeout: 240_000 }, () => {
  let region: TestRegion;
  let folder: string;
  let inProcess: Readonly<Record<"sklearn" | "xgboost", InProcess>>;
  let first: Deployed;
  let second: Deployed;

  beforeAll(async () => {
    folder = scratchFolder();
    inProcess = JSON.parse(readFileSync(join(modelsDir, "expected.json"), "utf8"));
    region = await TestRegion.start({ file: { endpoints: [] } });
  });
  afterAll(async () => {
    await region?.end();
    rmSync(folder, { recursive: true, force: true });
  });

  const deploy = (...args: readonly string[]): Promise<Deployed> => region.penstockJson<Deployed>("deploy", ...args);
  const frameOf = ({ columns, data }: InProcess): object => ({ dataframe_split: { columns, data } });
  const invoke = (name: string, body: object) => region.post(`/serving-endpoints/${name}/invocations`, body);
  /** Labels of the first model; the second one, with other weights, answers 2 - label. */
  const labels = (): readonly number[] => inProcess.sklearn.predictions;
  const otherLabels = (): readonly number[] => labels().map((label) => 2 - label);
  const pidsOf = (name: string): readonly number[] =>
    region
      .children()
      .filter(({ id }) => id.startsWith(`${name}-`))
      .map(({ pid }) => pid);

  test.each(["sklearn", "xgboost"] as const)(
    "of a folder that MLflow saved with %s, and nothing else, serves what the model predicts in process",
    async (name) => {
      const done = await deploy(join(modelsDir, name));
      expect(done).toMatchObject({ endpoint: name, weight: 100 });
      if (name === "sklearn") first = done;
      const { status, body } = await invoke(name, frameOf(inProcess[name]));
      expect({ status, body }).toEqual({ status: 200, body: { predictions: inProcess[name].predictions } });
    },
  );

  test("of an ONNX file serves it", async () => {
    expect(await deploy(join(EXAMPLES, "iris", "iris.onnx"))).toMatchObject({ endpoint: "iris", weight: 100 });
    const { data } = inProcess.sklearn;
    expect((await invoke("iris", { inputs: data })).body).toEqual({ predictions: labels() });
  });

  test("of a GGUF file serves it, and says the name it chose", async () => {
    const { code, stdout, stderr } = await region.penstock("deploy", gguf!);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("smollm2-135m-instruct-q4-1") });
    expect(stdout).toContain("deployed smollm2-135m-instruct-q4-1");
    const messages = [{ role: "user", content: "What is the capital of France?" }];
    const asked = { model: "smollm2-135m-instruct-q4-1", messages, temperature: 0, max_tokens: 24 };
    const { body } = await region.post("/v1/chat/completions", asked);
    expect(body.choices[0].message.content).toContain("Paris");
  });

  test("of other weights moves the traffic without one request failing, in the same environment", async () => {
    const retrained = join(folder, "sklearn");
    const script = join(import.meta.dirname, "..", "clients", "retrained_iris.py");
    const made = await ended(spawn(python!, [script, join(modelsDir, "sklearn"), retrained]));
    expect(made).toMatchObject({ code: 0 });
    const right = [labels(), otherLabels()].map((list) => JSON.stringify(list));
    const load = new SteadyLoad(region.url, 20, [
      {
        name: "sklearn",
        path: "/serving-endpoints/sklearn/invocations",
        body: frameOf(inProcess.sklearn),
        isRight: (text) => right.includes(JSON.stringify(JSON.parse(text).predictions)),
      },
    ]);
    second = await deploy(retrained);
    const sent = await load.stop();
    expect(sent.filter(({ result }) => result !== "right")).toEqual([]);
    expect(sent.length).toBeGreaterThan(0);
    expect((await invoke("sklearn", frameOf(inProcess.sklearn))).body).toEqual({ predictions: otherLabels() });
    const { versions } = await region.endpoint("sklearn");
    const environments = new Set(versions.map((version) => version.environmentHash));
    expect([versions.length, environments.size]).toEqual([2, 1]);
  });

  test("again of what is there makes no new version and starts nothing", async () => {
    await until("the replica of the old version has ended", () => pidsOf("sklearn").length === 1);
    const before = pidsOf("sklearn");
    expect((await deploy(join(folder, "sklearn"))).version).toBe(second.version);
    expect(pidsOf("sklearn")).toEqual(before);
  });

  test("a split sends traffic to both versions, and another one to none restarts no replica", async () => {
    const split = await region.penstock("split", "sklearn", `${first.version}=50`, `${second.version}=50`);
    expect(split).toMatchObject({ code: 0 });
    await region.whenEndpoint("sklearn", "serves both halves", weightsAre({ first: 50, second: 50 }));
    await until("both versions have answered", async () => {
      const { headers, body } = await invoke("sklearn", frameOf(inProcess.sklearn));
      const version = headers.get("x-penstock-version") ?? "";
      answered.set(version, body.predictions);
      return answered.size === 2;
    });
    expect(Object.fromEntries(answered)).toEqual({ [first.version]: labels(), [second.version]: otherLabels() });

    const before = pidsOf("sklearn");
    expect(before).toHaveLength(2);
    await region.penstock("split", "sklearn", `${first.version}=10`, `${second.version}=90`);
    await region.whenEndpoint("sklearn", "serves 10 and 90", weightsAre({ first: 10, second: 90 }));
    expect(pidsOf("sklearn")).toEqual(before);
  });
  const answered = new Map<string, unknown>();

  function weightsAre(wanted: { readonly first: number; readonly second: number }): (view: EndpointView) => boolean {
    return ({ versions }) => {
      const weightOf = (id: string): number | undefined => versions.find((version) => version.id === id)?.weight;
      return weightOf(first.version) === wanted.first && weightOf(second.version) === wanted.second;
    };
  }

  test("a rollback sends all traffic to the version before", async () => {
    expect(await region.penstock("rollback", "sklearn", "--to", first.version)).toMatchObject({ code: 0 });
    await region.whenEndpoint("sklearn", "is rolled back", weightsAre({ first: 100, second: 0 }));
    // The region's view is ahead of its routers by the time that a snapshot takes to reach them.
    const allRight = async () => {
      for (let n = 0; n < 5; n++) {
        expect((await invoke("sklearn", frameOf(inProcess.sklearn))).body).toEqual({ predictions: labels() });
      }
    };
    await vi.waitFor(allRight, { timeout: 10_000 });
  });

  test("other bounds restart no replica", async () => {
    // Asked first, in case it sleeps.
    expect((await invoke("xgboost", frameOf(inProcess.xgboost))).status).toBe(200);
    const before = pidsOf("xgboost");
    expect(before).toHaveLength(1);
    const scaled = await region.penstockJson<EndpointView["spec"]>("scale", "xgboost", "--min", "1", "--max", "9");
    expect(scaled.concurrency).toEqual({ min: 1, max: 9 });
    await region.whenEndpoint("xgboost", "has its bounds", ({ spec }) => spec.concurrency.max === 9);
    expect((await invoke("xgboost", frameOf(inProcess.xgboost))).status).toBe(200);
    expect(pidsOf("xgboost")).toEqual(before);
  });

  test("more concurrency than one replica carries starts another, beside the one that is there", async () => {
    expect((await invoke("iris", { inputs: inProcess.sklearn.data })).status).toBe(200);
    const before = pidsOf("iris");
    const { versions } = await region.endpoint("iris");
    const target = versions.find(({ weight }) => weight === 100)?.targetConcurrency ?? 0;
    expect(target).toBeGreaterThan(0);
    // One and a half times what one carries needs two.
    await region.penstock("scale", "iris", "--min", String(Math.ceil(1.5 * target)), "--max", "1000");
    await region.whenEndpoint("iris", "has two replicas", ({ scale }) => scale.ready === 2);
    expect(pidsOf("iris")).toEqual(expect.arrayContaining([...before]));
  });

  test("logs show what a replica wrote", async () => {
    const { code, stdout } = await region.penstock("logs", "iris");
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("REPLICA_READY") });
  });

  test("of a version that never gets ready fails with its last words, and the traffic stays where it is", async () => {
    const agent = (command: readonly string[]): string => {
      const file = join(folder, "agent.yaml");
      writeFileSync(file, JSON.stringify({ name: "agent", model: join(EXAMPLES, "agent"), run: { command } }));
      return file;
    };
    const good = await deploy("-f", agent([process.execPath, "agent.mjs"]));
    const before = pidsOf("agent");
    const dies = "console.error('the weights do not fit'); process.exit(3)";
    const failed = await region.penstock("deploy", "-f", agent([process.execPath, "-e", dies]));
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("the weights do not fit") });
    const described = await region.penstock("describe", "agent");
    expect(described.stdout).toContain("the weights do not fit");
    const { versions } = await region.endpoint("agent");
    expect(Object.fromEntries(versions.map(({ phase, weight }) => [phase, weight]))).toEqual({
      serving: 100,
      failed: 0,
    });
    const { body } = await region.post("/endpoints/agent/ask", { question: "still there?" });
    expect(body).toEqual({ answer: "STILL THERE?", steps: 3 });
    expect(pidsOf("agent").filter((pid) => before.includes(pid))).toEqual(before);
    expect(good.weight).toBe(100);
  });

  test("delete ends the replicas of that endpoint and of no other", async () => {
    const [gone, stays] = [pidsOf("agent"), pidsOf("xgboost")];
    expect(await region.penstock("delete", "agent", "--yes")).toMatchObject({ code: 0 });
    await until("its processes have ended", () => !gone.some(isRunning));
    expect((await region.post("/endpoints/agent/ask", {})).status).toBe(404);
    expect((await region.penstock("describe", "agent")).code).toBe(1);
    expect(stays.every(isRunning)).toBe(true);
  });

  test("all that was deployed is there again after kill -9 of the whole region", async () => {
    const before = (await region.penstockJson<EndpointView[]>("get")).map(lasting);
    const processes = region.processes();
    await region.kill();
    await until("no process is left", () => !processes.some(isRunning));
    await region.up();
    await until("all serve", async () => {
      const after = await region.penstockJson<EndpointView[]>("get");
      return after.every(({ status }) => status.word === "ready" || status.word === "asleep");
    });
    expect((await region.penstockJson<EndpointView[]>("get")).map(lasting)).toEqual(before);
    expect((await invoke("sklearn", frameOf(inProcess.sklearn))).body).toEqual({ predictions: labels() });
    expect((await invoke("xgboost", frameOf(inProcess.xgboost))).body).toEqual({
      predictions: inProcess.xgboost.predictions,
    });
    await region.whenIdle();
  });

  /** What of an endpoint must outlast every process. */
  function lasting({ name, spec, versions }: EndpointView): object {
    return { name, spec, versions: versions.map(({ id, phase, weight, digest }) => ({ id, phase, weight, digest })) };
  }

  test("an ordered end leaves no process", async () => {
    expect(await region.stop()).toBe(0);
    // The process that MLflow replicas are forked from looks once a second whether its region is still there.
    await until("no process is left", () => region.processes().length === 0);
  });
});
