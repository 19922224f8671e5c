import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { computeDeadlineMs, decideLiveness, type JudgedClass, type JudgeMemory, type JudgeWorld } from "./judge.ts";

const IDLE: JudgedClass = {
  requestClass: "infer",
  inFlight: 0,
  startedTotal: 0,
  progressTotal: 0,
  progressGapMsMax: 0,
  warmupServiceMs: 2,
  canarySinceMs: null,
  canaryAnsweredAtMs: null,
};

/** Plays a replica second by second; its canaries are answered as `answers` says. Returns when it was called stuck, or null. */
function play(
  seconds: number,
  world: (atMs: number) => Partial<JudgedClass> & { readonly cpuRatio?: number },
  answers: (atMs: number) => boolean,
): number | null {
  let memory: JudgeMemory = {};
  let canarySinceMs: number | null = null;
  let canaryAnsweredAtMs: number | null = null;
  for (let atMs = 0; atMs <= seconds * 1000; atMs += 1000) {
    if (canarySinceMs !== null && answers(atMs)) {
      canarySinceMs = null;
      canaryAnsweredAtMs = atMs;
    }
    const { cpuRatio = 0, ...seen } = world(atMs);
    const judged = { ...IDLE, ...seen, canarySinceMs, canaryAnsweredAtMs };
    const judgement = decideLiveness({ classes: [judged], counted: true, cpuRatio }, memory, atMs);
    memory = judgement.memory;
    if (judgement.canariesDue.length > 0) canarySinceMs = atMs;
    if (judgement.stuck !== null) return atMs;
  }
  return null;
}

describe("a hang is found in under 30 s", () => {
  test("while work is present", () => {
    // Progress until 20 s, then silence: canary at 25 s, deadline of 10 s behind it.
    const at = play(
      120,
      (ms) => ({ inFlight: 3, startedTotal: 9, progressTotal: Math.min(ms, 20_000) }),
      (ms) => ms < 20_000,
    );
    expect(at).toBeLessThanOrEqual(20_000 + 30_000);
    expect(at).toBeGreaterThan(30_000);
  });

  test("while it is idle, by its canary alone", () => {
    const at = play(
      120,
      () => ({}),
      (ms) => ms < 40_000,
    );
    expect(at).toBeGreaterThan(40_000);
    expect(at).toBeLessThanOrEqual(40_000 + 30_000);
  });
});

describe("no false kill", () => {
  test("property: never while progress grows at least once per usual gap, even though no canary gets an answer", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 20, maxLength: 60 }), (gapsSeconds) => {
        // Progress comes in steps, each some seconds after the one before; the longest legal silence is 9 s.
        const moments: number[] = [];
        for (const gap of gapsSeconds) moments.push((moments.at(-1) ?? 0) + gap * 1000);
        const progressAt = (ms: number): number => moments.filter((moment) => moment <= ms).length;
        const end = moments.at(-1)! / 1000;
        const at = play(
          end,
          (ms) => ({ inFlight: 50, startedTotal: 500, progressTotal: progressAt(ms) }),
          () => false,
        );
        expect(at).toBeNull();
      }),
    );
  });

  test("property: never while canaries are answered within the deadline, whatever the counters do", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ inFlight: fc.nat(100), progressTotal: fc.nat(3) }), { minLength: 1, maxLength: 200 }),
        (states) => {
          const at = play(
            states.length - 1,
            (ms) => states[ms / 1000]!,
            () => true,
          );
          expect(at).toBeNull();
        },
      ),
    );
  });

  test("one long unstreamed answer that keeps the CPU busy is waited for ten times as long", () => {
    const silent = { inFlight: 1, startedTotal: 1, progressTotal: 0 };
    const busy = play(
      90,
      () => ({ ...silent, cpuRatio: 0.9 }),
      () => false,
    );
    expect(busy).toBeNull();
    expect(
      play(
        90,
        () => silent,
        () => false,
      ),
    ).not.toBeNull();
  });
});

test("the deadline follows the longest silence that ended well, within its bounds", () => {
  const world: Pick<JudgeWorld, "counted" | "cpuRatio"> = { counted: true, cpuRatio: 0 };
  // Ten times the gap, at least 10 s, at most 600 s; 60 s at least where nothing is counted.
  expect(computeDeadlineMs({ ...IDLE, progressGapMsMax: 100 }, world)).toBe(10_000);
  expect(computeDeadlineMs({ ...IDLE, progressGapMsMax: 4_000 }, world)).toBe(40_000);
  expect(computeDeadlineMs({ ...IDLE, progressGapMsMax: 90_000 }, world)).toBe(600_000);
  expect(computeDeadlineMs(IDLE, { counted: false, cpuRatio: 0 })).toBe(60_000);
});

test("a canary is due for the first class always, for another only while it was seen lately", () => {
  const other = { ...IDLE, requestClass: "image" };
  const due = (startedTotal: number): readonly string[] => {
    const world = { classes: [IDLE, { ...other, startedTotal }], counted: true, cpuRatio: 0 };
    const first = decideLiveness(world, {}, 0);
    return decideLiveness(world, first.memory, 11_000).canariesDue;
  };
  expect(due(0)).toEqual(["infer"]);
  expect(due(1)).toEqual(["infer", "image"]);
});
