import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asMonoMs } from "../../core/time.ts";
import {
  afterBeat,
  afterExit,
  afterReady,
  afterTick,
  decideSlot,
  newSlot,
  type RestartPolicy,
  restartDelayMs,
  type Slot,
} from "./supervise.ts";

const POLICY: RestartPolicy = {
  firstDelayMs: 100,
  maxDelayMs: 30_000,
  healthyAfterMs: 60_000,
  giveUpAfter: 6,
  graceMs: 10_000,
};

const at = (ms: number) => asMonoMs(ms);

/** A slot whose process was started at `ms`. */
const started = (ms: number): Slot => decideSlot(newSlot(at(ms)), true, POLICY, at(ms)).slot;

test("back-off doubles from the first delay to the longest", () => {
  const delays = Array.from({ length: 12 }, (_, earlyEnds) => restartDelayMs(earlyEnds, POLICY));
  // 100 ms after a healthy run and after the first early end, then doubled; 100 * 2^9 = 51,200 is over the bound.
  expect(delays).toEqual([100, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  expect(restartDelayMs(1, { ...POLICY, firstDelayMs: 0 })).toBe(0);
  expect(restartDelayMs(2, { ...POLICY, firstDelayMs: 0 })).toBe(100);
});

test("six starts that never got ready are a crash loop, which starts nothing any more", () => {
  let slot = newSlot(at(0));
  let now = 0;
  const kinds: string[] = [];
  for (let start = 0; start < 6; start++) {
    now = slot.state.kind === "waiting" ? slot.state.startAtMs : now;
    slot = afterExit(decideSlot(slot, true, POLICY, at(now)).slot, POLICY, at(now + 10));
    kinds.push(slot.state.kind);
  }
  expect(kinds).toEqual([...Array(5).fill("waiting"), "crash-loop"]);
  expect(decideSlot(slot, true, POLICY, at(now + 1_000_000))).toMatchObject({ action: "none", wakeAtMs: null });
  expect(decideSlot(slot, false, POLICY, at(now)).action).toBe("forget");
});

test("getting ready ends a row of failed starts, but not the back-off", () => {
  const twice = { ...started(0), failedStarts: 5, earlyEnds: 5 };
  const ended = afterExit(afterReady(twice), POLICY, at(50));
  expect(ended).toMatchObject({ failedStarts: 0, earlyEnds: 6, state: { kind: "waiting", startAtMs: 50 + 3_200 } });
});

test("a healthy run begins the back-off anew", () => {
  const ended = afterExit(afterReady({ ...started(0), earlyEnds: 9 }), POLICY, at(60_000));
  expect(ended).toMatchObject({ earlyEnds: 0, state: { startAtMs: 60_100 } });
});

describe("signs of life", () => {
  const ticks = (slot: Slot, count: number): Slot => (count === 0 ? slot : ticks(afterTick(slot), count - 1));

  test("silence of 15 ticks after a beat is a hang: killed once, then restarted", () => {
    const silent = ticks(afterBeat(started(0)), 14);
    expect(decideSlot(silent, true, POLICY, at(1)).action).toBe("none");
    const hung = decideSlot(afterTick(silent), true, POLICY, at(1));
    expect(hung.action).toBe("kill");
    expect(decideSlot(hung.slot, true, POLICY, at(2)).action).toBe("none");
    expect(afterExit(hung.slot, POLICY, at(3)).state.kind).toBe("waiting");
  });
  test("a process that has not spoken yet may load as long as it takes", () => {
    expect(decideSlot(ticks(started(0), 1_000), true, POLICY, at(1)).action).toBe("none");
  });
  test("a beat ends the silence", () => {
    const saved = afterBeat(ticks(afterBeat(started(0)), 14));
    expect(decideSlot(ticks(saved, 14), true, POLICY, at(1)).action).toBe("none");
  });
});

test("one that is not wanted any more is asked to end, killed after its grace, and forgotten", () => {
  const asked = decideSlot(started(0), false, POLICY, at(100));
  expect(asked).toMatchObject({ action: "terminate", wakeAtMs: 10_100 });
  expect(decideSlot(asked.slot, false, POLICY, at(10_099)).action).toBe("none");
  const killed = decideSlot(asked.slot, false, POLICY, at(10_100));
  expect(killed.action).toBe("kill");
  expect(decideSlot(killed.slot, false, POLICY, at(20_000)).action).toBe("none");
  expect(decideSlot(afterExit(killed.slot, POLICY, at(20_001)), false, POLICY, at(20_001)).action).toBe("forget");
});

test("one that is wanted again while it ends starts at once after its end", () => {
  const asked = decideSlot(started(0), false, POLICY, at(100)).slot;
  expect(decideSlot(asked, true, POLICY, at(200)).action).toBe("none");
  expect(decideSlot(afterExit(asked, POLICY, at(300)), true, POLICY, at(300)).action).toBe("start");
});

test("whatever happens: one process at a time, no start before its time, decisions settle, wishes win in the end", () => {
  const event = fc.oneof(
    fc.record({ what: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
    fc.record({ what: fc.constantFrom("exit", "beat", "ready", "tick", "want", "unwant") }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      let now = 0;
      let slot = newSlot(at(0));
      let wanted = true;
      let running = false;
      let lastExitMs = Number.NEGATIVE_INFINITY;
      const settle = (): void => {
        for (let round = 0; ; round++) {
          expect(round).toBeLessThan(3);
          const step = decideSlot(slot, wanted, POLICY, at(now));
          slot = step.slot;
          if (step.action === "start") {
            expect(running).toBe(false);
            expect(wanted).toBe(true);
            if (slot.earlyEnds > 0) expect(now - lastExitMs).toBeGreaterThanOrEqual(POLICY.firstDelayMs);
            running = true;
          } else if (step.action === "terminate" || step.action === "kill") {
            expect(running).toBe(true);
          } else {
            if (step.action === "forget") expect(running).toBe(false);
            expect(step.wakeAtMs === null || step.wakeAtMs > now).toBe(true);
            return;
          }
        }
      };
      for (const happened of events) {
        if (happened.what === "pass") now += "ms" in happened ? happened.ms : 0;
        else if (happened.what === "exit" && running) {
          slot = afterExit(slot, POLICY, at(now));
          running = false;
          lastExitMs = now;
        } else if (happened.what === "beat") slot = afterBeat(slot);
        else if (happened.what === "ready") slot = afterReady(slot);
        else if (happened.what === "tick") slot = afterTick(slot);
        else if (happened.what === "want") wanted = true;
        else if (happened.what === "unwant") wanted = false;
        settle();
      }
      // Left alone for the longest wait there is, a wanted process runs and an unwanted one was told to end.
      now += 60_000;
      settle();
      if (wanted && slot.state.kind !== "stopping" && slot.state.kind !== "crash-loop") expect(running).toBe(true);
      if (!wanted && running) expect(slot.state.kind).toBe("stopping");
    }),
    { numRuns: 500 },
  );
});
