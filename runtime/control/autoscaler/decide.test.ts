import { describe, expect, it } from "vitest";
import { autoscalerWorld } from "../../../test/support/autoscaler-world.ts";
import { asMonoMs, asWallMs, type Now } from "../../core/time.ts";
import { decide } from "./decide.ts";
import { initMemory } from "./memory.ts";
import type { World } from "./world.ts";

const at = (ms: number): Now => ({ mono: asMonoMs(ms), wall: asWallMs(ms) });

/** A sleeping-allowed version with `ready` replicas, seen by no router yet. */
function worldOf(ready: number, hostKnown: boolean): World {
  return autoscalerWorld({ hostKnown }, { asked: ready, ready });
}

describe("after a restart with nothing kept (it is written at most each 10 s, and not on a full disk)", () => {
  it("concludes nothing before the host has told what runs, and then keeps what runs", () => {
    const before = decide(worldOf(0, false), initMemory(null), at(0));
    expect(before).toMatchObject({ output: null, because: { reason: "hold: host-unknown" } });
    const after = decide(worldOf(3, true), before.memory, at(300));
    expect(after.output?.replicas).toBe(3);
  });

  it("keeps wanted what was kept while the host is unknown", () => {
    const kept = { ...initMemory(null), wanted: 5 };
    expect(decide(worldOf(0, false), kept, at(0)).output?.replicas).toBe(5);
  });
});

const MINUTE_MS = 60_000;

/** A router's first or next report of nothing: it speaks, and no request came. */
const silence = (seq: number, atMs: number): World["routers"] => [
  { router: "r", epoch: 1, seq, routerMonoMs: atMs, receivedAtMs: atMs, rows: [] },
];

/** A version of which a router says each second that nothing came, decided at each report. */
function quietFor(
  ms: number,
  worldAt: (atMs: number) => Partial<World>,
  replicasAt: (atMs: number) => Partial<World["replicas"]> = () => ({}),
) {
  let memory = initMemory(null);
  let verdict = decide(autoscalerWorld(worldAt(0), replicasAt(0)), memory, at(0));
  for (let atMs = 0; atMs <= ms; atMs += 1_000) {
    const routers = silence(1 + atMs / 1_000, atMs);
    verdict = decide(autoscalerWorld({ routers, ...worldAt(atMs) }, replicasAt(atMs)), memory, at(atMs));
    memory = verdict.memory;
  }
  return verdict;
}

describe("the last replica", () => {
  it("sleeps when the idle window is over, and asks to be looked at then", () => {
    const before = quietFor(MINUTE_MS, () => ({}));
    // Nothing ever came, so the idle window of 120 s began with the first look.
    expect([before.output?.replicas, before.wakeAtMs]).toEqual([1, 120_000]);
    const after = quietFor(2 * MINUTE_MS, () => ({}));
    expect([after.output?.replicas, after.because.reason]).toEqual([0, "scale: sleep"]);
  });

  it("is not put to sleep while it stages", () => {
    const place = { phase: "staging", weight: 0, sizedForWeight: 100 } as const;
    expect(quietFor(3 * MINUTE_MS, () => ({ place })).output?.replicas).toBe(1);
  });

  it("is not put to sleep while it still starts for the first time", () => {
    const starting = { ready: 0, startingSinceMs: [0] };
    const slow = quietFor(
      3 * MINUTE_MS,
      () => ({}),
      () => starting,
    );
    expect([slow.output?.replicas, slow.because.reason]).toEqual([1, "hold: not-ready-yet"]);
  });

  it("sleeps though it is being started again, and though it can't be started at all", () => {
    const again = (atMs: number) => (atMs < 10_000 ? {} : { ready: 0, startingSinceMs: [atMs] });
    expect(quietFor(3 * MINUTE_MS, () => ({}), again).output?.replicas).toBe(0);
    expect(
      quietFor(
        3 * MINUTE_MS,
        () => ({}),
        () => ({ ready: 0, broken: 1 }),
      ).output?.replicas,
    ).toBe(0);
  });

  it("stays where a minimum is provisioned", () => {
    const kept = quietFor(3 * MINUTE_MS, () => ({ concurrency: { min: 1, max: 100 } }));
    expect([kept.output?.replicas, kept.because.reason]).toEqual([1, "hold: minimum"]);
  });
});

describe("a version out of service", () => {
  it.each(["kept", "failed"] as const)("that is %s wants nothing, and its target stays known", (phase) => {
    const memory = { ...initMemory(null), wanted: 3 };
    const place = { phase, weight: 0, sizedForWeight: 0 };
    const verdict = decide(autoscalerWorld({ place }), memory, at(0));
    expect(verdict).toMatchObject({
      output: { replicas: 0 },
      because: { reason: `off: ${phase}` },
      memory: { wanted: 0 },
    });
    expect(verdict.output?.targetConcurrency).toBeGreaterThan(0);
  });

  it("that is in no rollout has no fact any more", () => {
    expect(decide(autoscalerWorld({ place: null }), initMemory(null), at(0)).output).toBe(null);
  });
});
