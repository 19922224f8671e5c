import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statfsSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findTestModel } from "../../runtime/serving/gguf/test-model.ts";
import { isRunning, runPenstock, scratchFolder, TestRegion, until } from "./region.ts";
import { HOW_TO_GET } from "./tools.ts";

const IRIS = join(import.meta.dirname, "..", "..", "examples", "iris", "iris.onnx");
const SETOSA = { inputs: [[5.1, 3.5, 1.4, 0.2]] };
const gguf = findTestModel();
const NO_MODEL = gguf === null ? ` (skipped: ${HOW_TO_GET})` : "";

let folder: string;
beforeAll(() => {
  folder = scratchFolder();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const classify = (region: TestRegion) => region.post("/serving-endpoints/iris/invocations", SETOSA);
const irisOf = (change: object = {}): object => ({
  name: "iris",
  model: IRIS,
  concurrency: { min: 1, max: 8 },
  ...change,
});

function regionFile(content: object): string {
  const path = join(folder, "region.yaml");
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe("a running region", { timeout: 120_000 }, () => {
  let region: TestRegion;
  beforeAll(async () => {
    region = await TestRegion.start({ file: { endpoints: [irisOf()] } });
  });
  afterAll(() => region?.end());

  /** Deploys what can't be served; returns what the CLI said and the code that the region gives. */
  async function refusedDeploy(name: string, ...args: readonly string[]): Promise<{ stderr: string; code: string }> {
    const { code, stderr } = await region.penstock("deploy", "--name", name, ...args);
    expect({ code, stderr }).toMatchObject({ code: 1 });
    const { prepared, versions } = await region.endpoint(name);
    expect(versions).toEqual([]);
    if (prepared?.kind !== "failed") throw new Error(JSON.stringify(prepared));
    return { stderr, code: prepared.code };
  }

  test.skipIf(gguf === null)(`refuses a truncated GGUF file, naming it${NO_MODEL}`, async () => {
    const path = join(folder, "half.gguf");
    cpSync(gguf!, path);
    truncateSync(path, 10_000_000);
    const refused = await refusedDeploy("half-gguf", path);
    expect(refused).toMatchObject({ code: "PENSTOCK_MODEL_BROKEN", stderr: expect.stringContaining("half.gguf") });
  });

  test("refuses a truncated ONNX file, naming it", async () => {
    const path = join(folder, "half.onnx");
    writeFileSync(path, readFileSync(IRIS).subarray(0, 300));
    const refused = await refusedDeploy("half-onnx", path);
    expect(refused).toMatchObject({ code: "PENSTOCK_MODEL_BROKEN", stderr: expect.stringContaining("half.onnx") });
  });

  test("refuses a file that has another hash than the spec says, naming both", async () => {
    const modelSha256 = "0".repeat(64);
    const path = join(folder, "hash.yaml");
    writeFileSync(path, JSON.stringify({ name: "hash", model: IRIS, modelSha256 }));
    const { code, stderr } = await region.penstock("deploy", "-f", path);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/iris\.onnx has SHA-256 [0-9a-f]{64}, expected is 0{64}/),
    });
    const { prepared } = await region.endpoint("hash");
    expect(prepared).toMatchObject({ kind: "failed", code: "PENSTOCK_MODEL_HASH" });
  });

  test("refuses an MLflow model whose requirement does not exist, in the resolver's words", async () => {
    const model = join(folder, "model");
    mkdirSync(model, { recursive: true });
    writeFileSync(
      join(model, "MLmodel"),
      "flavors:\n  python_function:\n    loader_module: mlflow.sklearn\nmlflow_version: 3.17.2\n",
    );
    writeFileSync(join(model, "python_env.yaml"), 'python: "3.11"\ndependencies:\n  - -r requirements.txt\n');
    writeFileSync(join(model, "requirements.txt"), "mlflow==3.17.2\npenstock-has-no-such-package==1.0\n");
    const refused = await refusedDeploy("requirement", model);
    expect(refused).toMatchObject({
      code: "PENSTOCK_REQUIREMENTS",
      stderr: expect.stringContaining("penstock-has-no-such-package"),
    });
  });

  test("refuses a path where nothing is, before it asks the region", async () => {
    const { code, stderr } = await region.penstock("deploy", join(folder, "nothing"), "--debug");
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("PENSTOCK_NO_SUCH_PATH") });
  });

  test("is not disturbed by a second one on its port, or on its data folder", async () => {
    const file = regionFile({ endpoints: [irisOf()] });
    const port = new URL(region.url).port;
    const onPort = await runPenstock([
      "up",
      "--config",
      file,
      "--port",
      port,
      "--data-dir",
      join(folder, "other"),
      "--debug",
    ]);
    expect(onPort).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`Port ${port} .*--port.*PENSTOCK_PORT_IN_USE`, "s")),
    });
    const onFolder = await runPenstock([
      "up",
      "--config",
      file,
      "--port",
      "0",
      "--data-dir",
      region.dataDir,
      "--debug",
    ]);
    expect(onFolder).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`process id ${region.pid}.*--data-dir.*PENSTOCK_DATA_DIR_IN_USE`, "s")),
    });
  });

  test("serves on after all of it, and the refused endpoints can be deleted", async () => {
    expect(await classify(region)).toMatchObject({ status: 200, body: { predictions: [0] } });
    for (const { name } of await region.penstockJson<{ name: string }[]>("get")) {
      if (name !== "iris") expect(await region.penstock("delete", name, "--yes")).toMatchObject({ code: 0 });
    }
    expect((await region.penstockJson<{ name: string }[]>("get")).map(({ name }) => name)).toEqual(["iris"]);
    expect(region.children().map(({ id }) => id.split("-")[0])).toEqual(["controller", "router", "iris"]);
  });
});

test("a port that another program has is refused, naming that program", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  const args = [
    "up",
    "--config",
    regionFile({}),
    "--port",
    String(port),
    "--data-dir",
    join(folder, "port"),
    "--debug",
  ];
  const { code, stderr } = await runPenstock(args);
  other.close();
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(`process ${process.pid} `) });
  expect(stderr).toContain("PENSTOCK_PORT_IN_USE");
});

test("a region file with five mistakes is refused with all five, each with its path, and starts nothing", async () => {
  const file = regionFile({
    port: 70_000,
    regoin: "local",
    endpoints: [
      irisOf({ name: "Iris!" }),
      irisOf({ concurrency: { min: 9, max: 3 } }),
      irisOf({ name: "other", timeouts: { firstByteMs: "soon" } }),
    ],
  });
  const dataDir = join(folder, "five");
  const { code, stderr } = await runPenstock(["up", "--config", file, "--data-dir", dataDir, "--debug"]);
  expect(code).toBe(1);
  expect(stderr).toContain("has 5 mistakes");
  for (const path of [
    "port",
    "regoin",
    "endpoints[0].name",
    "endpoints.iris.concurrency.min",
    "endpoints.other.timeouts.firstByteMs",
  ]) {
    expect(stderr).toContain(path);
  }
  expect(stderr).toContain("PENSTOCK_REGION_FILE_INVALID");
  expect(existsSync(dataDir)).toBe(false);
});

test("a damaged state ends the start at once, naming the file and what to do, and leaves no process", async () => {
  const dataDir = join(folder, "damaged");
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, "state.sqlite"), "no database".repeat(100));
  const args = ["up", "--config", regionFile({}), "--port", "0", "--data-dir", dataDir, "--debug"];
  const { code, stderr } = await runPenstock(args);
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("PENSTOCK_STATE_DAMAGED") });
  expect(stderr).toContain(join(dataDir, "state.sqlite"));
  expect(stderr).toContain("Restore the file from a backup");
  const { children } = JSON.parse(readFileSync(join(dataDir, "run.json"), "utf8"));
  expect(children.filter(({ pid }: { pid: number }) => isRunning(pid))).toEqual([]);
});

const NO_MOUNT = canMount() ? "" : " (skipped: this user may not mount; run the tests as root)";

describe.skipIf(NO_MOUNT !== "")(`a data folder${NO_MOUNT}`, { timeout: 240_000 }, () => {
  let mounted: string;
  beforeAll(() => {
    mounted = join(folder, "mounted");
    mkdirSync(mounted);
  });

  test("that is read-only is refused, naming it", async () => {
    mount(mounted, "ro");
    const args = ["up", "--config", regionFile({}), "--port", "0", "--data-dir", join(mounted, "data"), "--debug"];
    const { code, stderr } = await runPenstock(args);
    await unmount(mounted);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(mounted) });
    expect(stderr).toContain("PENSTOCK_DATA_DIR_NOT_WRITABLE");
  });

  test("on a disk that is full is refused, saying so", async () => {
    mount(mounted, "size=1m");
    fill(join(mounted, "filler"));
    const args = ["up", "--config", regionFile({}), "--port", "0", "--data-dir", join(mounted, "data"), "--debug"];
    const { code, stderr } = await runPenstock(args);
    await unmount(mounted);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("PENSTOCK_DISK_FULL") });
  });

  test("on a disk that runs full: traffic goes on, changes are refused with the reason, and nothing is lost", async () => {
    mount(mounted, "size=24m");
    const setup = { file: { endpoints: [] }, dataDir: join(mounted, "data") };
    const region = await TestRegion.start(setup);
    try {
      await region.penstockJson("deploy", IRIS, "--min", "1");
      const filler = join(mounted, "filler");
      fill(filler);
      expect(await classify(region)).toMatchObject({ status: 200, body: { predictions: [0] } });
      const refused = await region.penstock("scale", "iris", "--max", "7", "--debug");
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("PENSTOCK_") });
      expect(refused.stderr).toMatch(/disk|full|space/i);
      expect((await region.endpoint("iris")).spec.concurrency.max).not.toBe(7);
      expect(await classify(region)).toMatchObject({ status: 200 });

      rmSync(filler);
      await region.penstockJson("scale", "iris", "--max", "7");
      await region.kill();
      await region.up();
      expect((await region.endpoint("iris")).spec.concurrency.max).toBe(7);
      await region.whenEndpoint("iris", "is ready", ({ status }) => status.word === "ready");
      expect(await classify(region)).toMatchObject({ status: 200, body: { predictions: [0] } });
    } finally {
      await region.end();
      await unmount(mounted);
    }
  });

  test.skipIf(gguf === null)(
    `too small for a model: the deploy says so, and the rest serves on${NO_MODEL}`,
    async () => {
      mount(mounted, "size=48m");
      const region = await TestRegion.start({ file: { endpoints: [irisOf()] }, dataDir: join(mounted, "data") });
      try {
        const copy = join(folder, "big.gguf");
        cpSync(gguf!, copy);
        const { code, stderr } = await region.penstock("deploy", copy, "--name", "big", "--wait-timeout", "20");
        expect([1, 4]).toContain(code);
        expect(stderr).toMatch(/disk|space/i);
        expect((await region.endpoint("big")).status.word).not.toBe("ready");
        expect(await classify(region)).toMatchObject({ status: 200, body: { predictions: [0] } });
      } finally {
        await region.end();
        await unmount(mounted);
      }
    },
  );
});

function canMount(): boolean {
  if (process.getuid?.() !== 0) return false;
  const probe = scratchFolder();
  try {
    mount(probe, "size=1m");
    tryUnmount(probe);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
}

function mount(path: string, options: string): void {
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path], { stdio: "ignore" });
}

/** A process that has just ended may hold a file for a moment longer. */
function unmount(path: string): Promise<void> {
  return until(`${path} is unmounted`, () => tryUnmount(path));
}

function tryUnmount(path: string): boolean {
  return spawnSync("umount", [path], { stdio: "ignore" }).status === 0;
}

/** Writes zeros until not one block of the disk is free. */
function fill(path: string): void {
  const { bavail, bsize } = statfsSync(join(path, ".."));
  try {
    writeFileSync(path, Buffer.alloc((bavail + 256) * bsize));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
