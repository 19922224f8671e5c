import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keyHashOf } from "../../runtime/domain/names.ts";
import { type Answer, type Ended, runPenstock, TestRegion, until } from "./region.ts";

const MODEL = join(import.meta.dirname, "..", "..", "examples", "iris", "iris.onnx");
/** Long enough to be found by chance nowhere. */
const ADMIN = "admin-key-of-this-test-5b0f3c1d9e";
const IRIS_ONLY = "caller-key-of-this-test-8a7e2d4c6f";
const INPUTS = { inputs: [[5.1, 3.5, 1.4, 0.2]] };
const CHAT = { model: "iris", messages: [{ role: "user", content: "hello" }] };
const INFER = { inputs: [{ name: "X", shape: [1, 4], datatype: "FP32", data: [5.1, 3.5, 1.4, 0.2] }] };

let region: TestRegion;
beforeAll(async () => {
  const endpoint = { model: MODEL, concurrency: { min: 1, max: 8 } };
  region = await TestRegion.start({
    file: {
      keys: [
        { name: "root", sha256: keyHashOf(ADMIN), admin: true },
        { name: "app", sha256: keyHashOf(IRIS_ONLY), endpoints: ["iris"] },
      ],
      endpoints: [
        { name: "iris", ...endpoint },
        { name: "other", ...endpoint },
      ],
    },
    env: { PENSTOCK_KEY: ADMIN },
  });
}, 120_000);
afterAll(() => region?.end());

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const withKey = (key: string, ...args: readonly string[]): Promise<Ended> =>
  runPenstock(args, { PENSTOCK_URL: region.url, PENSTOCK_KEY: key });
const classify = (name: string, headers: Readonly<Record<string, string>>): Promise<Answer> =>
  region.post(`/serving-endpoints/${name}/invocations`, INPUTS, headers);

/** Every door with a call of it, and its own shape of an error. */
const DOORS: readonly [string, string, unknown, (status: number) => unknown][] = [
  [
    "OpenAI",
    "/v1/chat/completions",
    CHAT,
    (status) => ({
      error: {
        type: status === 401 ? "authentication_error" : "permission_error",
        code: status === 401 ? "PENSTOCK_KEY_MISSING" : "PENSTOCK_KEY_NOT_ALLOWED",
      },
    }),
  ],
  [
    "MLflow",
    "/serving-endpoints/iris/invocations",
    INPUTS,
    (status) => ({ error_code: status === 401 ? "UNAUTHENTICATED" : "PERMISSION_DENIED" }),
  ],
  [
    "KServe",
    "/v2/models/iris/infer",
    INFER,
    (status) => ({ error: expect.stringContaining(status === 401 ? "API key is required" : "does not open") }),
  ],
  [
    "raw",
    "/endpoints/iris/anything",
    {},
    (status) => ({ error: { code: status === 401 ? "PENSTOCK_KEY_MISSING" : "PENSTOCK_KEY_NOT_ALLOWED" } }),
  ],
];

describe.each(DOORS)("the %s door", (_door, path, body, shape) => {
  test("asks for a key in its own error shape", async () => {
    const answer = await region.post(path, body);
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(answer.body).toMatchObject(shape(401) as object);
  });
  test("refuses a key of another endpoint in its own error shape", async () => {
    const elsewhere = JSON.parse(JSON.stringify(body).replaceAll("iris", "other"));
    const answer = await region.post(path.replace("iris", "other"), elsewhere, bearer(IRIS_ONLY));
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject(shape(403) as object);
  });
});

test("a key opens its endpoint, in either header, and an unknown one opens nothing", async () => {
  for (const headers of [bearer(IRIS_ONLY), { "x-api-key": IRIS_ONLY }, bearer(ADMIN)]) {
    expect(await classify("iris", headers)).toMatchObject({ status: 200, text: '{"predictions":[0]}' });
  }
  expect(await classify("iris", bearer("guessed"))).toMatchObject({
    status: 401,
    body: { error_code: "UNAUTHENTICATED" },
  });
});

test("a list of models shows a key only what it opens", async () => {
  const list = await region.fetch("/api/2.0/serving-endpoints", { headers: bearer(IRIS_ONLY) });
  const { endpoints } = (await list.json()) as { endpoints: { name: string }[] };
  expect(endpoints.map(({ name }) => name)).toEqual(["iris"]);
});

test.each(["/api/v1/endpoints", "/api/v1/decisions", "/api/v1/logs", "/api/v1/events", "/metrics"])(
  "%s opens to an admin key only",
  async (path) => {
    const statusWith = async (headers: Readonly<Record<string, string>>): Promise<number> => {
      const answer = await region.fetch(path, { headers });
      await answer.body?.cancel();
      return answer.status;
    };
    expect(await statusWith({})).toBe(401);
    expect(await statusWith(bearer(IRIS_ONLY))).toBe(403);
    expect(await statusWith(bearer(ADMIN))).toBe(200);
  },
);

test("the console's page opens without a key, and holds nothing of the region", async () => {
  const page = await region.fetch("/console");
  expect(page.status).toBe(200);
  expect(await page.text()).not.toMatch(/iris/);
});

test("a key made by the CLI works at once, is listed without its text, and no longer once deleted", async () => {
  const made = await withKey(ADMIN, "key", "create", "batch", "--endpoint", "other");
  const key = made.stdout.trim();
  expect([made.code, key]).toEqual([0, expect.stringMatching(/^\S{20,}$/)]);
  await until("the router knows the key", async () => (await classify("other", bearer(key))).status === 200);
  expect((await classify("iris", bearer(key))).status).toBe(403);
  const listed = await withKey(ADMIN, "key", "list");
  expect(listed.stdout).toMatch(/root +yes +all\n.*app +no +iris\n.*batch +no +other/s);
  expect(listed.stdout).not.toContain(key);
  expect((await withKey(IRIS_ONLY, "key", "list")).stderr).toContain("may call endpoints but not the control API");

  expect(filesWith(key)).toEqual([]);
  expect(filesWith(keyHashOf(key))).not.toEqual([]);
  expect((await withKey(ADMIN, "key", "delete", "batch")).code).toBe(0);
  await until("the router has forgotten the key", async () => (await classify("other", bearer(key))).status === 401);
});

test("no key stands in the data folder, nor in the environment of a replica", () => {
  expect([...filesWith(ADMIN), ...filesWith(IRIS_ONLY)]).toEqual([]);
  const replica = region.pidOf("iris");
  expect(readFileSync(`/proc/${replica}/environ`, "utf8")).not.toContain(ADMIN);
});

test("a region that others could reach is not started without an admin key", async () => {
  const dataDir = join(region.dataDir, "..", "exposed");
  const { code, stderr } = await runPenstock(["up", "--host", "0.0.0.0", "--port", "0", "--data-dir", dataDir]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/0\.0\.0\.0.*no key with admin: true.*penstock key hash/s)]);
});

/** Files of the data folder that hold the text, the database's own among them. */
function filesWith(text: string): string[] {
  return readdirSync(region.dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));
}
