import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../adapters/clock.ts";
import { endpointInput } from "../../contract/spec/endpoint.ts";
import { UserError } from "../../core/errors.ts";
import type { EndpointSpec } from "../../domain/endpoint.ts";
import type { Prepared } from "../../domain/rollout.ts";
import type { Version } from "../../domain/version.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { Preparer } from "./preparer.ts";

const IRIS = readFileSync(join(import.meta.dirname, "../../../examples/iris/iris.onnx"));
const SOON = { timeout: 20_000, interval: 10 };

/** Keeps nothing: what is prepared is seen in the published facts. */
const quiet: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };

/** Back-off passes at once, so that a retry is only a turn of the event loop away. */
const hasty: Clock = { ...systemClock, after: (_delayMs, callback) => systemClock.after(0, callback) };

let folder: string;
let published: Prepared[];
let preparer: Preparer;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-prepare-"));
  published = [];
  preparer = newPreparer();
});

afterEach(async () => {
  await preparer.stop();
  rmSync(folder, { recursive: true, force: true });
});

function newPreparer(clock: Clock = hasty, publish = (prepared: Prepared) => void published.push(prepared)): Preparer {
  return new Preparer({
    clock,
    log: quiet,
    cacheDir: join(folder, "cache"),
    dataDir: join(folder, "data"),
    publish,
  });
}

function specOf(input: Readonly<Record<string, unknown>>, deployNumber = 1): EndpointSpec {
  return {
    ...endpointInput.parse({ name: "iris", ...input }),
    origin: "api",
    generation: deployNumber,
    deployNumber,
    idempotent: true,
  };
}

async function versionFrom(spec: EndpointSpec): Promise<Version> {
  preparer.want(spec);
  return vi.waitFor(() => {
    const last = published.findLast(({ deployNumber }) => deployNumber === spec.deployNumber)?.state;
    if (last?.kind !== "ready") throw new Error(`not ready: ${JSON.stringify(last)}`);
    return last.version;
  }, SOON);
}

function failure(): Promise<{ code: string; why: string; todo: string }> {
  return vi.waitFor(() => {
    const last = published.at(-1)?.state;
    if (last?.kind !== "failed") throw new Error(`no failure: ${JSON.stringify(last)}`);
    return last;
  }, SOON);
}

function putModel(bytes: Uint8Array = IRIS): string {
  const path = join(folder, "iris.onnx");
  writeFileSync(path, bytes);
  return path;
}

test("a state that can't be written for a while ends neither the process nor the work", async () => {
  let refusals = 0;
  preparer = newPreparer(hasty, (prepared) => {
    // Progress, the ready version and the word of its failure are refused; the disk has room from the fifth on.
    if (++refusals <= 4) throw new UserError("PENSTOCK_DISK_FULL", "The disk is full", "Free some space.");
    published.push(prepared);
  });
  expect((await versionFrom(specOf({ model: putModel() }))).runtime).toBe("onnx");
});

describe("a version", () => {
  test("keeps its own copy of the files: an edit in place changes the next version and not this one", async () => {
    const model = putModel();
    const first = await versionFrom(specOf({ model }));
    // A trailing unknown field of protobuf (number 15, varint 0) leaves the file a whole ONNX model.
    appendFileSync(model, Buffer.from([0x78, 0x00]));
    const second = await versionFrom(specOf({ model }, 2));
    expect(readFileSync(first.artifact.path).equals(IRIS)).toBe(true);
    expect(second.artifact.sizeBytes).toBe(IRIS.length + 2);
    expect(second.id).not.toBe(first.id);
  });

  test.each([
    ["overwritten", (path: string) => writeFileSync(path, Buffer.alloc(IRIS.length))],
    ["cut off", (path: string) => truncateSync(path, 10)],
    ["gone", (path: string) => rmSync(path)],
  ])("whose copy was %s on the disk gets a whole one with the next deploy", async (_, damage) => {
    const model = putModel();
    const first = await versionFrom(specOf({ model }));
    damage(first.artifact.path);
    const second = await versionFrom(specOf({ model }, 2));
    expect(second.id).toBe(first.id);
    expect(readFileSync(second.artifact.path).equals(IRIS)).toBe(true);
  });

  test("of one model is made for five endpoints at once, and none of them fails in between", async () => {
    const model = putModel();
    const names = ["one", "two", "three", "four", "five"];
    for (const name of names) preparer.want(specOf({ name, model }));
    await vi.waitFor(() => {
      const made = published.filter(({ state }) => state.kind === "ready").map(({ endpoint }) => endpoint);
      expect(made.toSorted()).toEqual(names.toSorted());
    }, SOON);
    expect(published.filter(({ state }) => state.kind === "failed")).toEqual([]);
  });

  test("is the same for the same files, wherever they are, and another for other run settings", async () => {
    const first = await versionFrom(specOf({ model: putModel() }));
    mkdirSync(join(folder, "elsewhere"));
    const moved = join(folder, "elsewhere", "iris.onnx");
    writeFileSync(moved, IRIS);
    const second = await versionFrom(specOf({ model: moved }, 2));
    const third = await versionFrom(specOf({ model: moved, run: { cpuCount: 2 } }, 3));
    expect(second.id).toBe(first.id);
    expect(third.id).not.toBe(first.id);
    expect(third.artifact.digest).toBe(first.artifact.digest);
  });

  test("of a fetched model shares the cache's file, which costs no second copy", async () => {
    const server = createServer((_request, response) => response.end(IRIS)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const modelSha256 = createHash("sha256").update(IRIS).digest("hex");
    const model = `http://127.0.0.1:${(server.address() as AddressInfo).port}/iris.onnx`;
    const version = await versionFrom(specOf({ model, modelSha256 }));
    server.close();
    const cached = join(folder, "cache", "models", modelSha256, "iris.onnx");
    expect(statSync(version.artifact.path).ino).toBe(statSync(cached).ino);
    expect(published.some(({ state }) => state.kind === "working" && state.doing === "fetching iris.onnx")).toBe(true);
  });

  test("of a bare command has no artifact; with a folder it runs from a copy of it", async () => {
    const bare = await versionFrom(specOf({ run: { command: ["serve"] } }));
    expect(bare).toMatchObject({ runtime: "custom", artifact: { path: "", sizeBytes: 0 }, environmentHash: null });
    mkdirSync(join(folder, "app"));
    writeFileSync(join(folder, "app", "main.mjs"), "");
    const app = await versionFrom(specOf({ model: join(folder, "app"), run: { command: ["node", "main.mjs"] } }, 2));
    expect(app.artifact.path).toBe(join(folder, "data", "artifacts", app.artifact.digest));
    expect(readFileSync(join(app.artifact.path, "main.mjs"), "utf8")).toBe("");
  });
});

describe("what goes wrong", () => {
  test("a truncated model is final, with code, reason and what to do", async () => {
    preparer.want(specOf({ model: putModel(IRIS.subarray(0, 300)) }));
    expect(await failure()).toEqual({
      kind: "failed",
      code: "PENSTOCK_MODEL_BROKEN",
      why: `${join(folder, "iris.onnx")} is not a whole ONNX file: it is truncated at 300 bytes`,
      todo: "Export or copy the file again, then deploy once more.",
    });
  });

  test("a server that is away is tried again until it answers, and says why meanwhile", async () => {
    let refusals = 3;
    const server = createServer((_request, response) => {
      if (refusals-- > 0) response.writeHead(503).end();
      else response.end(IRIS);
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const model = `http://127.0.0.1:${(server.address() as AddressInfo).port}/iris.onnx`;
    await versionFrom(specOf({ model }));
    server.close();
    const failures = published.map(({ state }) => (state.kind === "failed" ? state.code : null)).filter(Boolean);
    expect(failures).toEqual(Array(3).fill("PENSTOCK_FETCH_FAILED"));
  });

  test("what nobody foresaw is that endpoint's failure, and the others are made all the same", async () => {
    const clock: Clock = {
      ...hasty,
      wallMs: () => {
        throw new TypeError("no clock");
      },
    };
    preparer = newPreparer(clock);
    preparer.want(specOf({ model: putModel() }));
    expect(await failure()).toMatchObject({
      code: "PENSTOCK_PREPARE_BUG",
      why: expect.stringContaining("no clock"),
    });
    clock.wallMs = systemClock.wallMs;
    await versionFrom(specOf({ name: "other", model: putModel() }, 2));
  });

  test("a full disk is told as one, also where SQLite finds it, and is tried again", async () => {
    let isFull = true;
    const clock: Clock = {
      ...hasty,
      wallMs: () => {
        if (isFull)
          throw Object.assign(new Error("database or disk is full"), { code: "ERR_SQLITE_ERROR", errcode: 13 });
        return systemClock.wallMs();
      },
    };
    preparer = newPreparer(clock);
    preparer.want(specOf({ model: putModel() }));
    expect(await failure()).toMatchObject({ code: "PENSTOCK_DISK_FULL", todo: expect.stringContaining("tried again") });
    isFull = false;
    await vi.waitFor(() => expect(published.at(-1)?.state.kind).toBe("ready"), SOON);
  });

  test("a data folder that is a file is an error and no crash", async () => {
    writeFileSync(join(folder, "data"), "");
    preparer.want(specOf({ model: putModel() }));
    expect(await failure()).toMatchObject({
      code: "PENSTOCK_FOLDER_NOT_WRITABLE",
      why: expect.stringContaining("ENOTDIR"),
    });
  });
});

describe("wanting", () => {
  test("the same again does nothing; a newer deployNumber answers with that deployNumber", async () => {
    const spec = specOf({ model: putModel() });
    await versionFrom(spec);
    const before = published.length;
    preparer.want(spec);
    await versionFrom({ ...spec, deployNumber: 2 });
    const ready = published.slice(before).filter(({ state }) => state.kind === "ready");
    expect(ready.map(({ deployNumber }) => deployNumber)).toEqual([2]);
  });

  test("a newer spec ends the work on the old one, which publishes nothing more", async () => {
    const stalled = createServer(() => {}).listen(0, "127.0.0.1");
    await new Promise((resolve) => stalled.once("listening", resolve));
    preparer.want(specOf({ model: `http://127.0.0.1:${(stalled.address() as AddressInfo).port}/a.onnx` }));
    await versionFrom(specOf({ model: putModel() }, 2));
    stalled.closeAllConnections();
    stalled.close();
    const lastOfOld = published.findLastIndex(({ deployNumber }) => deployNumber === 1);
    const firstOfNew = published.findIndex(({ deployNumber }) => deployNumber === 2);
    expect(lastOfOld).toBeLessThan(firstOfNew);
  });

  test("a kept fact whose files are there is published as it is; one whose files are gone is made again", async () => {
    const spec = specOf({ model: putModel() });
    const version = await versionFrom(spec);
    const kept = published.at(-1)!;
    await preparer.stop();
    rmSync(join(folder, "iris.onnx"));
    published = [];
    preparer = newPreparer();
    preparer.want(spec, kept);
    await vi.waitFor(() => expect(published).toEqual([kept]), SOON);
    await preparer.stop();
    putModel();
    rmSync(version.artifact.path);
    rmSync(join(folder, "data", "artifacts", version.artifact.digest), { recursive: true });
    preparer = newPreparer();
    preparer.want(spec, kept);
    await vi.waitFor(() => expect(statSync(version.artifact.path).size).toBe(IRIS.length), SOON);
  });

  test("one endpoint that waits does not hold up the others", async () => {
    const stalled = createServer(() => {}).listen(0, "127.0.0.1");
    await new Promise((resolve) => stalled.once("listening", resolve));
    const model = `http://127.0.0.1:${(stalled.address() as AddressInfo).port}/a.onnx`;
    preparer.want({ ...specOf({ model }), name: "slow" });
    await versionFrom(specOf({ model: putModel() }));
    await preparer.stop();
    stalled.closeAllConnections();
    stalled.close();
    expect(published.some(({ endpoint, state }) => endpoint === "slow" && state.kind === "failed")).toBe(false);
  });
});
