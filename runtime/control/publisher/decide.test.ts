import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { specOf } from "../../../test/support/specs.ts";
import { asMonoMs, asWallMs } from "../../core/time.ts";
import { publisher } from "./controller.ts";
import { computeHardCap } from "./decide.ts";
import type { PublisherWorld, VersionRow } from "./world.ts";

const { name, idempotent, timeouts, queue, maxBodyBytes, traceSampleRatio } = specOf("iris");
const settings = { name, idempotent, timeouts, queue, maxBodyBytes, traceSampleRatio };
const address = { host: "127.0.0.1", port: 9_000 };

function versionRow(id: string, change: Partial<VersionRow> = {}): VersionRow {
  const plain = { endpoint: "iris", runtime: "onnx" as const, failure: null, url: null, maxInFlight: null };
  return { id, phase: "serving", weight: 100, targetConcurrency: 4, replicas: [], ...plain, ...change };
}

function worldOf(versions: readonly VersionRow[], change: Partial<PublisherWorld> = {}): PublisherWorld {
  const endpoint = { settings, runtime: "auto" as const, prepareProblem: null };
  return { endpoint, versions, hostKnown: true, unheard: 0, ...change };
}

const decideAt = (world: PublisherWorld, ms: number, memory = publisher.init(null)) =>
  publisher.decide(world, memory, { mono: asMonoMs(ms), wall: asWallMs(ms) });
const published = (world: PublisherWorld) => decideAt(world, 0).output;

describe("publisher", () => {
  it("lists only ready and draining replicas that have an address", () => {
    const replica = (id: string, phase: VersionRow["replicas"][0]["phase"], draining = false, at = true) => ({
      id,
      draining,
      epoch: 1,
      phase,
      address: at ? address : null,
    });
    const replicas = [
      replica("a", "ready"),
      replica("b", "starting"),
      replica("c", "stuck"),
      replica("d", "ready", true),
      replica("e", "ready", false, false),
      replica("f", "warming"),
    ];
    const rows = published(worldOf([versionRow("v1", { replicas })]))?.versions[0]?.replicas;
    expect(rows?.map(({ id, draining }) => [id, draining])).toEqual([
      ["a", false],
      ["d", true],
    ]);
  });

  it("sends requests to wait for the staging version while nothing serves, and to it alone until it has weight", () => {
    const staging = versionRow("v2", { phase: "staging", weight: 0 });
    expect(published(worldOf([staging]))?.endpoint?.split).toEqual([{ version: "v2", weight: 100 }]);
    const both = published(worldOf([versionRow("v1"), staging]))?.endpoint;
    expect([both?.split, both?.doors]).toEqual([[{ version: "v1", weight: 100 }], ["mlflow", "kserve"]]);
  });

  it("opens the doors of the runtime that is named while no version says more, and none while it is to be found out", () => {
    const doorsOf = (runtime: "auto" | "custom") =>
      published(worldOf([], { endpoint: { settings, runtime, prepareProblem: null } }))?.endpoint?.doors;
    expect([doorsOf("custom"), doorsOf("auto")]).toEqual([["openai", "mlflow", "kserve", "raw"], []]);
    const onnx = worldOf([versionRow("v1")], { endpoint: { settings, runtime: "custom", prepareProblem: null } });
    expect(published(onnx)?.endpoint?.doors).toEqual(["mlflow", "kserve"]);
  });

  it("splits by every weight above 0, the smallest too", () => {
    const rows = [versionRow("v1", { weight: 99 }), versionRow("v2", { weight: 1 }), versionRow("v3", { weight: 0 })];
    expect(published(worldOf(rows))?.endpoint?.split).toEqual([
      { version: "v1", weight: 99 },
      { version: "v2", weight: 1 },
    ]);
  });

  it("says why an endpoint can't answer, and says nothing while a version serves", () => {
    const failed = versionRow("v1", { phase: "failed", weight: 0, failure: "its replica ends again and again" });
    expect(published(worldOf([failed]))?.endpoint?.problem).toContain("its replica ends again and again");
    const endpoint = { settings, runtime: "auto" as const, prepareProblem: "No such file. Check the path." };
    expect(published(worldOf([], { endpoint }))?.endpoint?.problem).toBe("No such file. Check the path.");
    expect(published(worldOf([versionRow("v2")], { endpoint }))?.endpoint?.problem).toBe(null);
  });

  it("after a restart publishes nothing until all that runs has been heard, or 10 s passed", () => {
    const world = worldOf([versionRow("v1")], { unheard: 1 });
    const held = decideAt(world, 0);
    expect([held.output, held.wakeAtMs]).toEqual([null, 10_000]);
    expect(decideAt(world, 9_999, held.memory).output).toBe(null);
    expect(decideAt(world, 10_000, held.memory).output).not.toBe(null);
    const heard = decideAt({ ...world, unheard: 0 }, 20, held.memory);
    expect(decideAt(world, 30, heard.memory).output).toEqual(heard.output);
  });

  it("goes on listing the draining versions of a deleted endpoint, and ends with the last of them", () => {
    const draining = versionRow("v1", { phase: "draining", weight: 0 });
    const left = published(worldOf([draining], { endpoint: null }));
    expect([left?.endpoint, left?.versions.map(({ id }) => id)]).toEqual([null, ["v1"]]);
    expect(decideAt(worldOf([], { endpoint: null }), 0).output).toBe(null);
  });

  it("puts the path of a custom runtime's base URL before every request", () => {
    const replicas = [{ id: "a", draining: false, epoch: 1, phase: "ready" as const, address }];
    const custom = versionRow("v1", { runtime: "custom", url: "http://model.example:8000/base/", replicas });
    expect(published(worldOf([custom]))?.versions[0]?.replicas[0]?.basePath).toBe("/base");
  });
});

it("caps a replica at a quarter over its target and at least one more, and never above what the model demands", () => {
  expect([computeHardCap(1, 1), computeHardCap(1, null), computeHardCap(0.5, null), computeHardCap(8, null)]).toEqual([
    1, 2, 2, 10,
  ]);
  fc.assert(
    fc.property(
      fc.double({ min: 0.1, max: 500, noNaN: true }),
      fc.option(fc.integer({ min: 1, max: 64 })),
      (target, max) => {
        const cap = computeHardCap(Math.min(target, max ?? target), max);
        expect(cap).toBeGreaterThanOrEqual(Math.ceil(Math.min(target, max ?? target)));
        if (max !== null) expect(cap).toBeLessThanOrEqual(max);
      },
    ),
  );
});
