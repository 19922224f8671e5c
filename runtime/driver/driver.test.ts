import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { MemoryDecisionLog, MemoryKeptStore } from "../../test/support/memory-stores.ts";
import type { Controller } from "../core/controller.ts";
import { asMonoMs } from "../core/time.ts";
import { type BoardView, REGION_KEY } from "../domain/board.ts";
import type { Log } from "../ports/log.ts";
import { Board } from "./board.ts";
import { Driver } from "./driver.ts";
import { replayDecision } from "./replay.ts";

type Doubler = Controller<
  BoardView,
  { readonly granted: number },
  { readonly made: number },
  { readonly made: number },
  number
>;

const errors: string[] = [];
const log: Log = { debug() {}, info() {}, warn() {}, error: (code) => errors.push(code), with: () => log };

/** Doubles the grant of `iris-1`; everything about it can be changed by a test. */
function doubler(change: Partial<Doubler> = {}): Doubler {
  return {
    name: "doubler",
    scope: "region",
    pace: { everyMs: 5_000, minGapMs: 100 },
    observe: (board) => {
      const granted = board.get("granted", "iris-1");
      return { granted: granted.kind === "known" ? granted.value.replicas : 0 };
    },
    init: (kept) => kept ?? { made: 0 },
    keep: (memory) => memory,
    decide: (world, memory) => ({
      memory: { made: memory.made + 1 },
      output: world.granted * 2,
      because: { reason: "double", inputs: { granted: world.granted } },
      wakeAtMs: null,
    }),
    ...change,
  };
}

function broken(): never {
  throw new Error("a bug");
}

describe("the driver", () => {
  let clock: FakeClock;
  let board: Board;
  let decisions: MemoryDecisionLog;
  let kept: MemoryKeptStore;
  let driver: Driver;
  let outputs: string[];
  let setGranted: (replicas: number) => void;

  const add = (controller: Doubler) =>
    driver.add({
      controller,
      listens: ["granted"],
      publish: (_key, output) => outputs.push(`${clock.monoMs()}: ${output}`),
    });

  beforeEach(() => {
    errors.length = 0;
    clock = new FakeClock();
    board = new Board(clock);
    decisions = new MemoryDecisionLog();
    kept = new MemoryKeptStore();
    driver = new Driver({ board, clock, log, kept, decisions });
    outputs = [];
    const writer = board.writer("granted");
    setGranted = (replicas) => writer.set("iris-1", { version: "iris-1", replicas });
  });

  it("decides on a change at once, but never twice within the gap, and at least each period", () => {
    add(doubler());
    driver.start();
    clock.runFor(1_000);
    for (const granted of [1, 2, 3]) setGranted(granted);
    clock.runFor(1);
    setGranted(4);
    clock.runFor(9_000);
    // Start at 0; the burst at 1,000 is one decision; the change at 1,001 waits for the gap of 100; then each 5,000.
    expect(outputs).toEqual(["0: 0", "1000: 6", "1100: 8", "6100: 8"]);
  });

  it("wakes when a verdict asks for it", () => {
    add(
      doubler({
        decide: (_world, memory, now) => ({
          memory,
          output: 1,
          because: { reason: "wait", inputs: {} },
          wakeAtMs: now.mono < 700 ? asMonoMs(700) : null,
        }),
      }),
    );
    driver.start();
    clock.runFor(5_000);
    expect(outputs).toEqual(["0: 1", "700: 1"]);
  });

  it("logs a decision when reason or output changes, whole enough to make it again bit for bit", () => {
    add(doubler());
    driver.start();
    clock.runFor(6_000);
    setGranted(3);
    clock.runFor(10_000);
    const records = decisions.whole().toReversed();
    expect(records.map((record) => record.output)).toEqual([6, 0]);
    expect(records.map((record) => replayDecision(record, doubler())?.same)).toEqual([true, true]);
    const other = doubler({
      decide: (world, memory) => ({ ...doubler().decide(world, memory, clock.now()), output: world.granted * 3 }),
    });
    expect(records.map((record) => replayDecision(record, other)?.same)).toEqual([false, true]);
  });

  it("lets a shadow decide beside the live controller and only writes down what it would do", () => {
    add(doubler());
    driver.addShadow(
      "triple",
      doubler({
        decide: (world, memory, now) => ({ ...doubler().decide(world, memory, now), output: world.granted * 3 }),
      }),
    );
    setGranted(2);
    driver.start();
    clock.runFor(10);
    expect(outputs).toEqual(["0: 4"]);
    expect(decisions.list({ controller: "doubler/shadow:triple", limit: 1 })[0]?.output).toBe(6);
  });

  it.each<[string, Partial<Doubler>]>([
    ["init", { init: () => broken() }],
    ["observe", { observe: () => broken() }],
    ["keep", { keep: () => broken() }],
    ["decide", { decide: () => broken() }],
    [
      "wakeAtMs",
      { decide: (world, memory, now) => ({ ...doubler().decide(world, memory, now), wakeAtMs: asMonoMs(Number.NaN) }) },
    ],
  ])("lets the live controller decide as ever beside a shadow whose %s is broken", (_what, fault) => {
    add(doubler());
    driver.addShadow("broken", doubler(fault));
    driver.start();
    clock.runFor(50);
    setGranted(2);
    clock.runFor(6_000);
    // As without a shadow: the start, the change at 50 held to the gap of 100, then the period of 5,000.
    expect(outputs).toEqual(["0: 0", "100: 4", "5100: 4"]);
    expect(errors.length).toBeGreaterThan(0);
    expect(decisions.list({ controller: "doubler/shadow:broken", limit: 1 })).toEqual([]);
  });

  it("retries a key whose controller throws with back-off while the others go on", () => {
    const calls: number[] = [];
    add(doubler());
    driver.add({
      controller: doubler({
        name: "broken",
        decide: () => {
          calls.push(clock.monoMs());
          throw new Error("a bug");
        },
      }),
      listens: ["granted"],
      publish: () => {},
    });
    driver.start();
    clock.runFor(2_000);
    setGranted(1);
    clock.runFor(6_000);
    // 1 s, then 2 s, then 4 s after the failure before; the change at 2,000 does not bring it forward.
    expect(calls).toEqual([0, 1_000, 3_000, 7_000]);
    expect(errors).toEqual(calls.map(() => "CONTROLLER_THREW"));
    expect(outputs).toEqual(["0: 0", "2000: 2", "7000: 2"]);
  });

  it("refuses a memory that JSON can't hold", () => {
    add(doubler({ init: () => ({ made: Number.NaN }) }));
    driver.start();
    clock.runFor(10);
    expect([errors, outputs]).toEqual([["CONTROLLER_THREW"], []]);
  });

  it("writes kept projections at most each 10 s and once more at the end, and begins from them", () => {
    const writes: string[] = [];
    const put = kept.put.bind(kept);
    kept.put = (controller, key, value) => {
      writes.push(`${clock.monoMs()}: ${JSON.stringify(value)}`);
      put(controller, key, value);
    };
    add(doubler({ pace: { everyMs: 1_000, minGapMs: 100 } }));
    driver.start();
    clock.runFor(15_500);
    driver.stop();
    expect(writes).toEqual(['0: {"made":1}', '10000: {"made":10}', '15500: {"made":16}']);
    driver = new Driver({ board, clock, log, kept, decisions });
    add(doubler());
    driver.start();
    clock.runFor(1);
    driver.stop();
    expect(kept.get("doubler", REGION_KEY)).toEqual({ made: 17 });
  });
});
