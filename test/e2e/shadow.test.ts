import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DecisionRow } from "../../runtime/operate/views/decision-view.ts";
import type { ShadowRow } from "../../runtime/operate/views/shadow-view.ts";
import { runPenstock, TestRegion, until } from "./region.ts";

const EXAMPLES = join(import.meta.dirname, "..", "..", "examples");
const IRIS = { name: "iris", model: join(EXAMPLES, "iris", "iris.onnx"), concurrency: { min: 1, max: 8 } };
const AUTOSCALER = join(import.meta.dirname, "..", "..", "runtime", "control", "autoscaler", "autoscaler.ts");

let folder: string;
let region: TestRegion;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "penstock-shadow-"));
  const throwing = join(folder, "throwing.ts");
  const law = `{ ...autoscaler, decide() { throw new Error("a bug in the shadow"); } }`;
  writeFileSync(throwing, `import { autoscaler } from ${JSON.stringify(AUTOSCALER)};\nexport default ${law};\n`);
  region = await TestRegion.start({
    file: { endpoints: [IRIS], shadows: [{ name: "throwing", module: throwing }] },
    args: ["--shadow", `cautious=${join(EXAMPLES, "shadow", "cautious.ts")}`],
  });
}, 120_000);
afterAll(async () => {
  await region?.end();
  rmSync(folder, { recursive: true });
});

const shadowRows = (name: string): Promise<ShadowRow[]> =>
  region.penstockJson<ShadowRow[]>("decisions", "iris", "--shadow", name);

test("a law in shadow shows what it would have done, beside what the real one did", async () => {
  await until("the shadow has decided", async () => (await shadowRows("cautious")).some(({ real }) => real !== null));
  const row = (await shadowRows("cautious")).find(({ real }) => real !== null)!;
  // The example keeps half as many again, rounded up: 1 replica becomes 2.
  expect(row.real?.output).toMatchObject({ replicas: 1 });
  expect(row).toMatchObject({ differs: true, shadow: { output: { replicas: 2 }, replayable: true } });
  const { code, stdout } = await region.penstock("decisions", "--shadow", "cautious");
  expect(code).toBe(0);
  expect(stdout).toMatch(/SHADOW +REAL/);
  const { scale } = await region.endpoint("iris");
  expect(scale).toMatchObject({ wanted: 1, ready: 1 });
});

test("a law that throws in shadow is told in the controller's log, and the real one decides as ever", async () => {
  expect(region.log("controller")).toContain("a bug in the shadow");
  expect(await shadowRows("throwing")).toEqual([]);
  const answer = await region.post("/serving-endpoints/iris/invocations", { inputs: [[5.1, 3.5, 1.4, 0.2]] });
  expect([answer.status, answer.text]).toEqual([200, '{"predictions":[0]}']);
});

test("a shadow that is not running is refused, naming those that are", async () => {
  const { code, stderr } = await region.penstock("decisions", "--shadow", "other");
  expect(code).toBe(1);
  expect(stderr).toContain("throwing, cautious");
});

test("each of the last 50 decisions of a live region comes out the same when it is made again", async () => {
  await region.penstockJson("deploy", IRIS.model, "--name", "flowers");
  const list = (): Promise<DecisionRow[]> => region.penstockJson<DecisionRow[]>("decisions", "--limit", "50");
  // Bounds that go up and down give autoscaler, capacity, fleet and publisher something new to decide.
  let min = 1;
  await until("50 decisions are logged", async () => {
    min = (min % 40) + 13;
    const init = { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ min }) };
    expect((await region.fetch("/api/v1/endpoints/flowers/concurrency", init)).status).toBe(200);
    return (await list()).length === 50;
  });
  const rows = await list();
  expect(new Set(rows.map(({ controller }) => controller)).size).toBeGreaterThanOrEqual(4);
  for (const { id, controller } of rows) {
    const { equal } = await region.fetch(`/api/v1/decisions/${id}/replay`).then((answer) => answer.json());
    expect([controller, id, equal]).toEqual([controller, id, true]);
  }
  expect((await region.penstock("replay", String(rows[0]?.id))).stdout).toContain("bit for bit");
}, 120_000);

test.each([
  ["cautious", 2, "must be NAME=FILE"],
  ["Trial=law.ts", 2, "lower-case"],
  ["trial=none.ts", 1, "is not there"],
])("--shadow %s is refused before anything starts", async (flag, exitCode, says) => {
  const { code, stderr } = await runPenstock(["up", "--port", "0", "--data-dir", join(folder, "d"), "--shadow", flag]);
  expect(code).toBe(exitCode);
  expect(stderr).toContain(says);
});
