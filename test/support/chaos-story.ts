import type { Laws } from "../../runtime/control/assemble.ts";
import { splitUniform } from "../../runtime/core/prng.ts";
import { ModelledRegion } from "./modelled-region.ts";
import { specOf } from "./specs.ts";

/** Faults last this long, then everything heals. */
const FAULTY_MS = 160_000;
const HEALED_MS = 100_000;

/**
 * A region's life from a seed: three endpoints under load, deploys good, slow and broken, a canary, a deletion, crashing replicas,
 * controllers killed, messages lost, late, twice and out of order; then it heals, the load goes on and it has to settle.
 */
export function playChaos(seed: number, laws: Partial<Laws> = {}): ModelledRegion {
  const region = new ModelledRegion(seed, laws);
  const draw = splitUniform(seed, "story");
  const at = (ms: number, act: () => void) => region.clock.after(ms, act);
  const some = (fromMs: number, toMs: number) => fromMs + draw() * (toMs - fromMs);
  const main = { concurrency: { min: 1, max: 20 } };
  region.apply(specOf("main", main));
  region.apply(specOf("side", { concurrency: { min: 0, max: 16 } }));
  region.apply(specOf("gone"));
  at(some(15_000, 30_000), () =>
    region.apply(specOf("main", { ...main, generation: 2, deployNumber: 2, model: "./v2-slow" })),
  );
  at(some(60_000, 80_000), () =>
    region.apply(specOf("main", { ...main, generation: 3, deployNumber: 3, model: "./v3-crashes" })),
  );
  at(some(110_000, 125_000), () =>
    region.apply(specOf("main", { ...main, generation: 4, deployNumber: 4, model: "./v4" })),
  );
  at(some(30_000, 60_000), () => region.apply(canary(2, 20)));
  at(some(90_000, 130_000), () => region.apply(canary(3, 100)));
  at(some(60_000, 140_000), () => region.remove("gone"));
  for (const restart of [some(20_000, 60_000), some(80_000, 130_000)]) {
    at(restart, () => region.killControl());
    at(restart + some(100, 15_000), () => region.startControl());
  }
  for (let crash = 0; crash < 8; crash++) at(some(10_000, FAULTY_MS), () => crashOne(region, draw()));
  region.load("main", 40, FAULTY_MS + HEALED_MS);
  region.load("side", 3, FAULTY_MS);
  at(some(20_000, FAULTY_MS), () => region.load("side", 80, 10_000));
  region.load("gone", 2, 60_000);
  at(FAULTY_MS, () => {
    region.chaos.faulty = false;
  });
  region.clock.runFor(FAULTY_MS + HEALED_MS);
  return region;
}

function canary(generation: number, canaryPercent: number) {
  return specOf("side", {
    generation,
    deployNumber: generation,
    model: "./side-v2",
    concurrency: { min: 0, max: 16 },
    traffic: { kind: "latest", canaryPercent },
  });
}

function crashOne(region: ModelledRegion, draw: number): void {
  const running = [...region.host.replicas.keys()].sort();
  const victim = running[Math.floor(draw * running.length)];
  if (victim !== undefined) region.host.crash(victim);
}
