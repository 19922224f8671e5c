import { execFileSync } from "node:child_process";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyObject } from "../../runtime/adapters/kube/apply.ts";
import { type KubeClient, KubeError } from "../../runtime/adapters/kube/kube-client.ts";
import { pathOf } from "../../runtime/adapters/kube/objects.ts";
import { endpointInput } from "../../runtime/contract/spec/endpoint.ts";
import { API_VERSION, GROUP } from "../../runtime/contract/spec/kubernetes/names.ts";
import { connectToTestCluster, installDefinitions, makeNamespace, penstockType } from "./kube.ts";

const NAMESPACE = "test-crds";
const ENDPOINTS = penstockType("modelendpoints");
const HASH = "0123456789abcdef".repeat(4);
let client: KubeClient;
let endNamespace: () => Promise<void>;

beforeAll(async () => {
  client = connectToTestCluster();
  await installDefinitions(client);
  endNamespace = await makeNamespace(client, NAMESPACE);
});
afterAll(async () => {
  await endNamespace();
  client.close();
});

const objectOf = (kind: string, name: string, spec: unknown) => ({
  apiVersion: `${GROUP}/${API_VERSION}`,
  kind,
  metadata: { name, ...(kind === "ModelProfile" || kind === "AcceleratorPool" ? {} : { namespace: NAMESPACE }) },
  spec,
});

/** What the API server says to an object that is not written: null where it takes it. */
async function refusalOf(plural: string, object: ReturnType<typeof objectOf>): Promise<string | null> {
  try {
    await client.send({
      method: "POST",
      path: pathOf(penstockType(plural), object.metadata.namespace ?? null),
      query: { dryRun: "All", fieldValidation: "Strict" },
      body: object,
    });
    return null;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return error.message;
  }
}

describe("an endpoint that is wrong is refused by the API server, in words", () => {
  const MODEL = { model: "https://models.example/iris.onnx" };
  test.each<[what: string, name: string, spec: object, words: string]>([
    ["no model and no server", "e", {}, "give a model, or run.command or run.url"],
    ["bounds the wrong way round", "e", { ...MODEL, concurrency: { min: 9, max: 8 } }, "min must not be above max"],
    ["a setting that does not exist", "e", { ...MODEL, replicas: 3 }, 'unknown field "spec.replicas"'],
    ["a number below its limit", "e", { ...MODEL, run: { cpuCount: 0 } }, "must be at least 0.1"],
    ["a runtime that does not exist", "e", { ...MODEL, runtime: "tensor" }, 'supported values: "auto"'],
    ["a hash that is none", "e", { ...MODEL, modelSha256: "abc" }, "spec.modelSha256"],
    ["a split that is not whole", "e", split([["a", 50]]), "percents must sum to 100"],
    [
      "a split with a version twice",
      "e",
      split([
        ["a", 50],
        ["a", 50],
      ]),
      "each version may stand once",
    ],
    ["a split without parts", "e", { ...MODEL, traffic: { kind: "split" } }, "kind: split needs parts"],
    [
      "parts where there is no split",
      "e",
      { ...MODEL, traffic: { kind: "latest", parts: [] } },
      "parts goes with kind: split only",
    ],
    ["an environment name with a space", "e", { ...MODEL, run: { env: { "A B": "1" } } }, "must be a name of letters"],
    ["a server over https", "e", { run: { url: "https://elsewhere" } }, "must be an http:// address"],
    ["a name that clients could not call", "a".repeat(41), MODEL, "the name must be 1 to 40"],
  ])("%s", async (_, name, spec, words) => {
    expect(await refusalOf("modelendpoints", objectOf("ModelEndpoint", name, spec))).toContain(words);
  });

  function split(parts: readonly (readonly [version: string, percent: number])[]): object {
    return { ...MODEL, traffic: { kind: "split", parts: parts.map(([version, percent]) => ({ version, percent })) } };
  }
});

describe("the other kinds", () => {
  const version = {
    endpoint: "iris",
    runtime: "onnx",
    artifact: { source: "https://models.example/iris.onnx", digest: HASH, sizeBytes: 512 },
    run: { cpuCount: 1 },
  };

  test("a version can't be changed once it is written, not even by its own controller", async () => {
    const made = objectOf("ModelVersion", "iris-0123456789", version);
    await applyObject(client, penstockType("modelversions"), made);
    const changed = { ...made, spec: { ...version, artifact: { ...version.artifact, sizeBytes: 513 } } };
    const refused = applyObject(client, penstockType("modelversions"), changed, { force: true });
    await expect(refused).rejects.toThrow("a version never changes: deploy a new one");
  });

  test.each<[what: string, plural: string, kind: string, spec: object, words: string]>([
    [
      "a version that is still to be looked at",
      "modelversions",
      "ModelVersion",
      { ...version, runtime: "auto" },
      'Unsupported value: "auto"',
    ],
    [
      "a reservation of nothing",
      "capacityreservations",
      "CapacityReservation",
      { endpoint: "iris", pool: "h100" },
      "give one of",
    ],
    [
      "a reservation of two things",
      "capacityreservations",
      "CapacityReservation",
      { endpoint: "iris", pool: "h100", muPerMinute: 10, accelerators: 2 },
      "give one of muPerMinute and accelerators",
    ],
    [
      "a profile with a cost below nothing",
      "modelprofiles",
      "ModelProfile",
      {
        model: HASH,
        accelerator: "h100",
        perRequest: -1,
        perInputToken: 1,
        perOutputToken: 4,
        cachedDiscountRatio: 0.9,
        shapes: [],
      },
      "perRequest",
    ],
    [
      "a pool of racks without nodes",
      "acceleratorpools",
      "AcceleratorPool",
      { ...poolSpec(), rack: { nodes: 0, label: "rack" } },
      "spec.rack.nodes",
    ],
  ])("%s is refused", async (_, plural, kind, spec, words) => {
    expect(await refusalOf(plural, objectOf(kind, "x", spec))).toContain(words);
  });

  test("a pool with racks and unknown prices is taken, its prices stay unknown", async () => {
    const spec = { ...poolSpec(), rack: { nodes: 18, label: "topology.penstock.dev/rack" } };
    const pool = await applyObject(
      client,
      penstockType("acceleratorpools"),
      objectOf("AcceleratorPool", "test-rack", spec),
    );
    expect(pool.spec).toMatchObject({ priceUsdPerHour: {}, reserveRatio: 0.1, capacity: "onDemand" });
  });

  function poolSpec(): object {
    return {
      accelerator: "gb200",
      resource: "nvidia.com/gpu",
      nodeSelector: { pool: "rack-1" },
      acceleratorsPerNode: 4,
    };
  }
});

test("defaults are filled in as a region file's are", async () => {
  const made = await applyObject(
    client,
    ENDPOINTS,
    objectOf("ModelEndpoint", "defaults", { model: "pypi:iris==1#iris.onnx" }),
  );
  const parsed = endpointInput.parse({ name: "defaults", model: "pypi:iris==1#iris.onnx" });
  const { name: _, ...wanted } = parsed;
  const given = endpointInput.parse({ name: "defaults", ...(made.spec as object) });
  expect(given).toEqual(parsed);
  // What a region file leaves at null is missing in the object: the server keeps no default of null.
  expect(Object.keys(made.spec as object).toSorted()).toEqual(
    Object.entries(wanted)
      .flatMap(([key, value]) => (value === null ? [] : [key]))
      .toSorted(),
  );
});

test("the API server takes what a region file takes, and refuses what it refuses", { timeout: 120_000 }, async () => {
  const number = (low: number, high: number): fc.Arbitrary<number> => fc.integer({ min: low, max: high });
  const spec = fc.record(
    {
      model: fc.constantFrom("", "a.onnx", "https://user@models.example/a.onnx"),
      runtime: fc.constantFrom("auto", "onnx", "torch"),
      concurrency: fc.record({ min: number(-1, 3), max: number(0, 3) }, { requiredKeys: [] }),
      run: fc.record(
        {
          cpuCount: fc.constantFrom(0, 0.05, 0.1, 2),
          command: fc.constantFrom(null, [], ["serve"], [""]),
          url: fc.constantFrom(null, "http://a:1/", "http://user:word@a/", "https://a/", "no address"),
          env: fc.constantFrom({}, { OK_1: "" }, { "1A": "" }),
        },
        { requiredKeys: [] },
      ),
      traffic: fc.oneof(
        fc.record({ kind: fc.constant("latest"), canaryPercent: number(0, 101) }, { requiredKeys: ["kind"] }),
        fc.record({
          kind: fc.constant("split"),
          parts: fc.array(fc.record({ version: fc.constantFrom("a", "b", ""), percent: fc.constantFrom(0, 50, 100) }), {
            maxLength: 3,
          }),
        }),
      ),
      keepVersions: number(0, 21),
      traceSampleRatio: fc.constantFrom(-0.1, 0, 0.5, 1.1),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(spec, async (given) => {
      const here = endpointInput.safeParse({ name: "either", ...given });
      const there = await refusalOf("modelendpoints", objectOf("ModelEndpoint", "either", given));
      expect({ given, refused: there !== null, there }).toEqual({ given, refused: !here.success, there });
    }),
    { numRuns: 300 },
  );
});

test("the example's file, which a local region deploys, is taken as it is", () => {
  const file = join(import.meta.dirname, "../../examples/iris/endpoint.yaml");
  const made = execFileSync("kubectl", ["apply", "-n", NAMESPACE, "--dry-run=server", "-f", file], {
    encoding: "utf8",
  });
  expect(made).toContain("modelendpoint.penstock.dev/iris-from-file created");
});

test("kubectl explains the settings and lists what an operator looks for", () => {
  const kubectl = (...args: string[]): string => execFileSync("kubectl", args, { encoding: "utf8" });
  expect(kubectl("explain", "modelendpoint.spec.concurrency.min")).toContain(
    "Requests in flight that are always provisioned",
  );
  expect(kubectl("get", "mep", "-n", NAMESPACE)).toMatch(/NAME +READY +REASON +REPLICAS +WANTED +TARGET +AGE/);
  expect(kubectl("get", "penstock", "-n", NAMESPACE, "-o", "name")).toContain("modelendpoint.penstock.dev/defaults");
});
