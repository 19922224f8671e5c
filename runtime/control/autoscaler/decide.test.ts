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
