import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

const IRIS = join(import.meta.dirname, "..", "..", "examples", "iris", "iris.onnx");
/** Fisher's first flower: a setosa, class 0 of the data set. */
const SETOSA = { inputs: [[5.1, 3.5, 1.4, 0.2]] };

let folder: string;
let region: ChildProcess;
let baseUrl: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "penstock-region-"));
  const endpoint = { name: "iris", model: IRIS, concurrency: { min: 1, max: 8 } };
  writeFileSync(join(folder, "region.yaml"), JSON.stringify({ endpoints: [endpoint] }));
  await startRegion();
});
afterAll(async () => {
  region.kill("SIGKILL");
  await until(() => allPids().every((pid) => !runs(pid)));
  rmSync(folder, { recursive: true, force: true });
});

async function startRegion(): Promise<void> {
  const fixture = join(import.meta.dirname, "local.fixture.ts");
  region = spawn(process.execPath, [fixture, join(folder, "region.yaml"), join(folder, "data")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(region.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  baseUrl = line.toString().trim();
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(20);
}

async function classify(): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${baseUrl}/serving-endpoints/iris/invocations`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(SETOSA),
  });
  return { status: response.status, text: await response.text() };
}

/** Whether it answers; a router that has not come (back) yet refuses the connection. */
const answers = (): Promise<boolean> =>
  classify().then(
    ({ status }) => status === 200,
    () => false,
  );

const children = (): { readonly id: string; readonly pid: number }[] =>
  JSON.parse(readFileSync(join(folder, "data", "run.json"), "utf8")).children;
const allPids = (): number[] => children().map((child) => child.pid);
const pidOf = (name: string): number => children().find((child) => child.id.startsWith(name))?.pid ?? 0;

function runs(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("Z");
  } catch {
    return false;
  }
}

const apiAnswers = (): Promise<boolean> =>
  fetch(`${baseUrl}/api/v1/endpoints/iris`).then(
    (response) => response.ok,
    () => false,
  );

/** Classifies without a pause until the condition holds, and returns every answer that was not right. */
async function wrongAnswersUntil(condition: () => boolean | Promise<boolean>): Promise<unknown[]> {
  const wrong: unknown[] = [];
  let over = false;
  const worker = async (): Promise<void> => {
    while (!over) {
      const answer = await classify();
      if (answer.status !== 200 || answer.text !== '{"predictions":[0]}') wrong.push(answer);
    }
  };
  const workers = [worker(), worker()];
  await until(condition);
  over = true;
  await Promise.all(workers);
  return wrong;
}

test("a model listed in the region file answers, and its endpoint says that it is ready", async () => {
  await until(answers);
  expect(await classify()).toEqual({ status: 200, text: '{"predictions":[0]}' });
  const view = (await (await fetch(`${baseUrl}/api/v1/endpoints/iris`)).json()) as { status: { word: string } };
  expect(view.status.word).toBe("ready");
});

test("with the controller killed -9 every request is answered, and the controller comes back", async () => {
  const before = pidOf("controller");
  process.kill(before, "SIGKILL");
  expect(await wrongAnswersUntil(async () => pidOf("controller") !== before && (await apiAnswers()))).toEqual([]);
});

test("with the replica killed -9 every request is answered, by its next start", async () => {
  const before = pidOf("iris");
  const ready = async (): Promise<boolean> => pidOf("iris") !== before && (await answers());
  process.kill(before, "SIGKILL");
  expect(await wrongAnswersUntil(ready)).toEqual([]);
});

test("a router killed -9 comes back on the same port", async () => {
  const before = pidOf("router");
  process.kill(before, "SIGKILL");
  await until(() => pidOf("router") !== before);
  await until(answers);
});

test("an agent killed -9 leaves no process, and the next start serves the same version", async () => {
  const pids = allPids();
  const version = children()
    .find((child) => child.id.startsWith("iris"))
    ?.id.slice(0, -2);
  region.kill("SIGKILL");
  await until(() => pids.every((pid) => !runs(pid)));
  await startRegion();
  await until(answers);
  expect(pidOf(version ?? "")).toBeGreaterThan(0);
});

test("with a controller that can't start any more, a replica killed -9 answers again: it comes back where the router knows it", async () => {
  const before = { controller: pidOf("controller"), replica: pidOf("iris") };
  for (const part of ["state.sqlite-wal", "state.sqlite"]) writeFileSync(join(folder, "data", part), "no database");
  process.kill(before.controller, "SIGKILL");
  await until(() => pidOf("controller") !== before.controller);
  process.kill(before.replica, "SIGKILL");
  await until(() => pidOf("iris") !== 0 && pidOf("iris") !== before.replica);
  await until(answers);
  expect(await apiAnswers()).toBe(false);
});

test("an ordered end leaves no process and exits with 0", async () => {
  const pids = allPids();
  region.kill("SIGTERM");
  const [code] = await once(region, "exit");
  expect(code).toBe(0);
  expect(pids.filter(runs)).toEqual([]);
});
