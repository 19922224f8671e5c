import { beforeEach, describe, expect, it } from "vitest";
import { asWallMs } from "../../runtime/core/time.ts";
import type { DecisionLog, DecisionRecord, KeptStore, SpecStore } from "../../runtime/ports/stores.ts";

/** The three stores of a region. */
export interface Stores {
  readonly specs: SpecStore;
  readonly kept: KeptStore;
  readonly decisions: DecisionLog;
}

/** Stores to be held to the contract: `open` gives empty ones; `reopen` gives what a new process would find of them. */
export interface StoresUnderTest {
  open(): Stores;
  reopen(stores: Stores): Stores;
}

/** What every adapter of the store ports must do. Call it at the top of a test file. */
export function describeStoreContract(name: string, subject: StoresUnderTest): void {
  describe(`${name} as a store`, () => {
    let stores: Stores;
    beforeEach(() => {
      stores = subject.open();
    });
    describe("SpecStore", () => specContract(() => stores, subject));
    describe("KeptStore", () => keptContract(() => stores, subject));
    describe("DecisionLog", () => decisionContract(() => stores, subject));
  });
}

function specContract(stores: () => Stores, { reopen }: StoresUnderTest): void {
  it("gives back after a restart what was put last, fact by fact", () => {
    const { specs } = stores();
    specs.put("spec", "iris", { generation: 1 });
    specs.put("spec", "iris", { generation: 2, model: "./iris.onnx" });
    specs.put("prepared", "iris", { text: "line\n\u00e9\u{1f600}" });
    const again = reopen(stores()).specs;
    expect(again.load("spec")).toEqual([{ key: "iris", value: { generation: 2, model: "./iris.onnx" } }]);
    expect(again.load("prepared")).toEqual([{ key: "iris", value: { text: "line\n\u00e9\u{1f600}" } }]);
    expect(again.load("rollout")).toEqual([]);
  });

  it("forgets what was removed, and removing what is not there is no error", () => {
    const { specs } = stores();
    specs.put("spec", "iris", 1);
    specs.remove("spec", "iris");
    specs.remove("spec", "never-there");
    expect(reopen(stores()).specs.load("spec")).toEqual([]);
  });

  it("counts incarnations up over restarts", () => {
    const first = stores().specs.nextIncarnation();
    const second = stores().specs.nextIncarnation();
    const third = reopen(stores()).specs.nextIncarnation();
    expect([second > first, third > second]).toEqual([true, true]);
  });
}

function keptContract(stores: () => Stores, { reopen }: StoresUnderTest): void {
  it("gives null where nothing is kept", () => {
    expect(stores().kept.get("fleet", "iris-1")).toBe(null);
  });

  it("keeps each controller's projections apart, over a restart", () => {
    const { kept } = stores();
    kept.put("fleet", "iris-1", { nextOrdinal: 3 });
    kept.put("autoscaler", "iris-1", { target: 2.5 });
    kept.put("fleet", "iris-1", { nextOrdinal: 4 });
    const again = reopen(stores()).kept;
    expect(again.get("fleet", "iris-1")).toEqual({ nextOrdinal: 4 });
    expect(again.get("autoscaler", "iris-1")).toEqual({ target: 2.5 });
  });

  it("forgets what was removed", () => {
    const { kept } = stores();
    kept.put("fleet", "iris-1", 1);
    kept.remove("fleet", "iris-1");
    kept.remove("fleet", "never-there");
    expect(reopen(stores()).kept.get("fleet", "iris-1")).toBe(null);
  });
}

function decisionContract(stores: () => Stores, { reopen }: StoresUnderTest): void {
  const record = (controller: string, key: string, reason: string): DecisionRecord => ({
    controller,
    key,
    atWallMs: asWallMs(1_767_225_600_000),
    atMonoMs: 0.1 + 0.2,
    reason,
    inputs: { wanted: 2, load: null, seen: "known", isNew: true },
    output: { replicas: 1e-7 },
    replay: { world: { values: [0.1, -5e-324, 1e21] }, memory: null },
  });

  it("gives a record back whole, its numbers bit for bit, over a restart", () => {
    const id = stores().decisions.append(record("fleet", "iris-1", "scale: up"));
    expect(reopen(stores()).decisions.get(id)).toEqual({ id, ...record("fleet", "iris-1", "scale: up") });
  });

  it("lists the newest first, by controller and key, in pages", () => {
    const { decisions } = stores();
    const ids = ["a", "b", "a", "a"].map((key, n) => decisions.append(record("fleet", key, `reason ${n}`)));
    decisions.append(record("rollout", "a", "other"));
    const page = decisions.list({ controller: "fleet", key: "a", limit: 2 });
    expect(page.map((row) => row.reason)).toEqual(["reason 3", "reason 2"]);
    const next = decisions.list({ controller: "fleet", key: "a", limit: 2, beforeId: page[1]?.id ?? 0 });
    expect(next.map((row) => row.reason)).toEqual(["reason 0"]);
    expect(decisions.list({ limit: 10 }).map((row) => row.key)).toEqual(["a", "a", "a", "b", "a"]);
    expect(ids).toEqual(ids.toSorted((x, y) => x - y));
  });

  it("has no record under an unknown id", () => {
    expect(stores().decisions.get(123_456)).toBe(null);
  });
}
