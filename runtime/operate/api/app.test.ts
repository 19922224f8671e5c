import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { endpointInput } from "../../contract/spec/endpoint.ts";
import { asMonoMs } from "../../core/time.ts";
import { aHosted, aReport, aRolledVersion, aRollout, aSpec, aVersion } from "../testing/facts.ts";
import { FakeClock, FakeRegion } from "../testing/fake-region.ts";
import { type Api, createApi } from "./app.ts";
import { endpointView, recordedDecision } from "./schemas.ts";
import { serveApi } from "./serve.ts";

// Every test speaks to the API over a real socket; the region behind it is a Board that the test writes.
let clock: FakeClock;
let region: FakeRegion;
let api: Api;
let server: Server;
let base: string;

beforeEach(async () => {
  clock = new FakeClock();
  region = new FakeRegion(clock);
  api = createApi(region);
  server = await serveApi(api.app, { host: "127.0.0.1", port: 0 });
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  api.close();
  server.closeAllConnections();
  server.close();
});

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(base + path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
}

const irisBody = { name: "iris", model: "/models/iris.onnx" };

/** `iris` with a version that serves and a kept one. */
function deployIris(): void {
  region.applySpec(aSpec());
  const kept = aRolledVersion({ version: aVersion("b"), phase: "kept", weight: 0, sinceMs: asMonoMs(5) });
  region.board.put("rollout", "iris", aRollout([aRolledVersion(), kept]));
  region.board.put("hosted", `${aVersion().id}-0`, aHosted());
  region.board.put("replica", `${aVersion().id}-0`, aReport());
  region.board.put("wanted", aVersion().id, { version: aVersion().id, replicas: 1, targetConcurrency: 4 });
}

describe("endpoints", () => {
  test("a PUT makes an endpoint with every default, another replaces it, an equal one only looks at the artifact again", async () => {
    const created = await call("PUT", "/api/v1/endpoints/iris", irisBody);
    expect([created.status, created.headers.get("etag")]).toEqual([201, '"1"']);
    expect(region.board.get("spec", "iris")).toMatchObject({
      value: { generation: 1, origin: "api", keepVersions: 3 },
    });
    const replaced = await call("PUT", "/api/v1/endpoints/iris", { ...irisBody, keepVersions: 5 });
    expect([replaced.status, replaced.headers.get("etag")]).toEqual([200, '"2"']);
    expect(region.redeployed).toEqual([]);
    await call("PUT", "/api/v1/endpoints/iris", { ...irisBody, keepVersions: 5 });
    expect(region.redeployed).toEqual(["iris"]);
  });

  test("every problem of a body is answered at once, each with its path", async () => {
    const { status, body } = await call("PUT", "/api/v1/endpoints/iris", {
      ...irisBody,
      typo: 1,
      run: { cpuCount: -1, env: { "1x": "a" } },
      traffic: { kind: "split", parts: [{ version: "v", percent: 10 }] },
    });
    expect([status, body.code]).toEqual([422, "PENSTOCK_INVALID"]);
    const paths = body.details.map((detail: { path: string }) => detail.path);
    expect(paths.toSorted()).toEqual(["run.cpuCount", "run.env.1x", "traffic.parts", "typo"]);
    expect(region.board.keys("spec")).toEqual([]);
  });

  test("a body that is not JSON is a 400 that says so", async () => {
    const { status, body } = await call("PUT", "/api/v1/endpoints/iris", "{oops");
    expect([status, body.code]).toEqual([400, "PENSTOCK_BAD_JSON"]);
  });

  test("a relative path and a name other than the path's are refused together", async () => {
    const { status, body } = await call("PUT", "/api/v1/endpoints/iris", { name: "other", model: "./m.onnx" });
    expect(status).toBe(422);
    expect(body.details.map((detail: { path: string }) => detail.path)).toEqual(["name", "model"]);
  });

  test("a change made for another generation is refused and changes nothing", async () => {
    await call("PUT", "/api/v1/endpoints/iris", irisBody);
    const stale = await call("PUT", "/api/v1/endpoints/iris", { ...irisBody, keepVersions: 9 }, { "if-match": '"7"' });
    expect([stale.status, stale.body.code]).toEqual([412, "PENSTOCK_GENERATION_CONFLICT"]);
    const fresh = await call("PUT", "/api/v1/endpoints/iris", { ...irisBody, keepVersions: 9 }, { "if-match": '"1"' });
    expect(fresh.status).toBe(200);
  });

  // RFC 9110, 13.1.1 and 13.1.2: `*` stands for any present one; If-Match compares strongly, so that W/ matches nothing.
  test.each([
    ["if-match", "*", 412, 200],
    ["if-match", '"0"', 412, 412],
    ["if-match", '"7", "1"', 412, 200],
    ["if-match", 'W/"1"', 412, 412],
    ["if-none-match", "*", 201, 412],
    ["if-none-match", '"7"', 201, 200],
  ])(
    "a PUT with %s: %s answers %d where there is no endpoint and %d where it is at generation 1",
    async (header, value, absent, present) => {
      const change = { ...irisBody, keepVersions: 9 };
      const made = await call("PUT", "/api/v1/endpoints/iris", change, { [header]: value });
      expect(made.status).toBe(absent);
      expect(region.board.keys("spec")).toEqual(absent === 412 ? [] : ["iris"]);
      region.applySpec(aSpec());
      expect((await call("PUT", "/api/v1/endpoints/iris", change, { [header]: value })).status).toBe(present);
    },
  );

  test("a model's address with a password is refused, and the refusal does not repeat it", async () => {
    const { status, body } = await call("PUT", "/api/v1/endpoints/iris", { ...irisBody, model: "http://u:s3cret@h/m" });
    expect([status, body.details[0].path]).toEqual([422, "model"]);
    expect(JSON.stringify(body)).not.toContain("s3cret");
    const run = { url: "https://u:s3cret@h" };
    expect(JSON.stringify((await call("PUT", "/api/v1/endpoints/iris", { ...irisBody, run })).body)).not.toContain(
      "s3cret",
    );
  });

  test("an endpoint of the region file is changed there: the refusal names the file", async () => {
    region.applySpec({ ...aSpec(), origin: "file" });
    const calls = [
      call("PUT", "/api/v1/endpoints/iris", irisBody),
      call("DELETE", "/api/v1/endpoints/iris"),
      call("PUT", "/api/v1/endpoints/iris/concurrency", { min: 2 }),
    ];
    for (const { status, body } of await Promise.all(calls)) {
      expect([status, body.code]).toEqual([409, "PENSTOCK_OWNED_BY_FILE"]);
      expect(body.message).toContain("/regions/region.yaml");
    }
  });

  test("an unknown endpoint is a 404 that names those there are", async () => {
    deployIris();
    const { status, body } = await call("GET", "/api/v1/endpoints/irsi");
    expect([status, body.code]).toEqual([404, "PENSTOCK_NO_SUCH_ENDPOINT"]);
    expect(body.todo).toContain("iris");
  });

  test("a view answers exactly what its schema documents", async () => {
    deployIris();
    const { body } = await call("GET", "/api/v1/endpoints/iris");
    expect(endpointView.parse(body)).toEqual(body);
    expect(body).toMatchObject({ status: { word: "ready" }, scale: { wanted: 1, ready: 1 } });
    const list = await call("GET", "/api/v1/endpoints");
    expect(list.body.endpoints.map((endpoint: { name: string }) => endpoint.name)).toEqual(["iris"]);
  });

  test("DELETE removes it", async () => {
    deployIris();
    expect((await call("DELETE", "/api/v1/endpoints/iris")).status).toBe(204);
    expect((await call("DELETE", "/api/v1/endpoints/iris")).status).toBe(404);
  });

  test("a series holds a point for each second sampled", async () => {
    deployIris();
    clock.advance(5_000);
    const { body } = await call("GET", "/api/v1/endpoints/iris/series?sinceMs=3000");
    expect(body.endpoint.atMs).toEqual([4_000, 5_000]);
    expect(body.versions[aVersion().id].columns.readyReplicas).toEqual([1, 1]);
  });
});

describe("traffic", () => {
  test("a split over known versions is written, one over unknown or failed ones is refused with what there is", async () => {
    deployIris();
    const parts = [
      { version: aVersion("a").id, percent: 90 },
      { version: aVersion("b").id, percent: 10 },
    ];
    const good = await call("PUT", "/api/v1/endpoints/iris/traffic", { kind: "split", parts });
    expect([good.status, good.body.spec.traffic]).toEqual([200, { kind: "split", parts }]);
    const bad = await call("PUT", "/api/v1/endpoints/iris/traffic", {
      kind: "split",
      parts: [{ version: "iris-nope", percent: 100 }],
    });
    expect([bad.status, bad.body.code, bad.body.details[0].path]).toEqual([
      422,
      "PENSTOCK_NO_SUCH_VERSION",
      "parts[0].version",
    ]);
    expect(bad.body.todo).toContain(aVersion("b").id);
  });

  test("a rollback without a name goes to the version that served before", async () => {
    deployIris();
    const { status, body } = await call("POST", "/api/v1/endpoints/iris/rollback", {});
    expect([status, body.spec.traffic.parts]).toEqual([200, [{ version: aVersion("b").id, percent: 100 }]]);
  });

  test("a rollback with nothing to go back to is a 409", async () => {
    region.applySpec(aSpec());
    region.board.put("rollout", "iris", aRollout());
    const { status, body } = await call("POST", "/api/v1/endpoints/iris/rollback", {});
    expect([status, body.code]).toEqual([409, "PENSTOCK_NOTHING_TO_ROLL_BACK_TO"]);
  });

  test("bounds change one at a time and may not cross", async () => {
    deployIris();
    const scaled = await call("PUT", "/api/v1/endpoints/iris/concurrency", { min: 8 });
    expect(scaled.body.spec).toMatchObject({ generation: 2, concurrency: { min: 8, max: 64 } });
    const crossed = await call("PUT", "/api/v1/endpoints/iris/concurrency", { max: 4 });
    expect([crossed.status, crossed.body.details[0].path]).toEqual([422, "min"]);
  });
});

describe("decisions", () => {
  test("pages go newest first by endpoint and controller until the last one", async () => {
    deployIris();
    for (let n = 0; n < 5; n++) region.decide();
    region.decide({ key: "other-cccccccccc" });
    region.decide({ controller: "rollout", key: "iris" });
    const first = await call("GET", "/api/v1/decisions?endpoint=iris&limit=4");
    expect(first.body.decisions.map((row: { id: number }) => row.id)).toEqual([7, 5, 4, 3]);
    const second = await call("GET", `/api/v1/decisions?endpoint=iris&limit=4&beforeId=${first.body.nextBeforeId}`);
    expect(second.body).toMatchObject({ decisions: [{ id: 2 }, { id: 1 }], nextBeforeId: null });
    const rollouts = await call("GET", "/api/v1/decisions?controller=rollout");
    expect(rollouts.body.decisions).toMatchObject([{ id: 7 }]);
  });

  test("one decision comes with its world, and its replay says whether it is the same bit for bit", async () => {
    const id = region.decide();
    const { body } = await call("GET", `/api/v1/decisions/${id}`);
    expect(recordedDecision.parse(body)).toEqual(body);
    region.replayed = { because: { reason: "scale: demand", inputs: { demand: 12 } }, output: { replicas: 3 } };
    expect((await call("GET", `/api/v1/decisions/${id}/replay`)).body.equal).toBe(true);
    region.replayed = { ...region.replayed, output: { replicas: 4 } };
    expect((await call("GET", `/api/v1/decisions/${id}/replay`)).body).toMatchObject({
      equal: false,
      recorded: { output: { replicas: 3 } },
      replayed: { output: { replicas: 4 } },
    });
  });

  test("a decision that was not recorded whole can't be replayed, an unknown one is a 404", async () => {
    const id = region.decide({ replay: null });
    expect((await call("GET", `/api/v1/decisions/${id}/replay`)).body.code).toBe("PENSTOCK_NOT_REPLAYABLE");
    expect((await call("GET", "/api/v1/decisions/99")).status).toBe(404);
    expect((await call("GET", "/api/v1/decisions/abc")).status).toBe(422);
  });
});

describe("the surface", () => {
  test("/openapi.json describes every route with the errors' shape, and the body of PUT is the spec's own schema", async () => {
    const { body } = await call("GET", "/openapi.json");
    expect(body.openapi).toBe("3.1.0");
    expect(Object.keys(body.paths)).toContain("/api/v1/endpoints/{name}/rollback");
    const put = body.paths["/api/v1/endpoints/{name}"].put;
    const schema = put.requestBody.content["application/json"].schema;
    expect(Object.keys(schema.properties).toSorted()).toEqual(Object.keys(endpointInput.shape).toSorted());
    expect(put.responses[422].content["application/json"].schema).toEqual({ $ref: "#/components/schemas/Error" });
  });

  test("/docs is a page that names every path", async () => {
    const page = await (await fetch(`${base}/docs`)).text();
    expect(page).toContain("/api/v1/endpoints/{name}/traffic");
  });

  test("a slash at the end of a path changes nothing", async () => {
    deployIris();
    for (const path of ["/api/v1/endpoints", "/api/v1/endpoints/iris", "/openapi.json", "/api/v1/region"]) {
      expect((await call("GET", `${path}/`)).body).toEqual((await call("GET", path)).body);
    }
  });

  test("a method that a path does not take is a 405 that tells those it takes, whether or not the name is known", async () => {
    const { status, headers, body } = await call("PATCH", "/api/v1/endpoints/iris");
    expect([status, body.code, headers.get("allow")]).toEqual([
      405,
      "PENSTOCK_METHOD_NOT_ALLOWED",
      "GET, HEAD, PUT, DELETE",
    ]);
    expect(body.todo).toContain("GET, HEAD, PUT, DELETE");
    expect((await call("DELETE", "/metrics")).headers.get("allow")).toBe("GET, HEAD");
  });

  test("an unknown path answers in the errors' shape", async () => {
    const { status, body } = await call("GET", "/api/v1/nothing");
    expect([status, body.code]).toEqual([404, "PENSTOCK_NO_SUCH_PATH"]);
  });

  test("a bug answers 500 without its words", async () => {
    region.removeEndpoint = () => {
      throw new TypeError("secret of the inside");
    };
    deployIris();
    const { status, body } = await call("DELETE", "/api/v1/endpoints/iris");
    expect([status, body.code]).toEqual([500, "PENSTOCK_INTERNAL"]);
    expect(JSON.stringify(body)).not.toContain("secret");
  });
});
