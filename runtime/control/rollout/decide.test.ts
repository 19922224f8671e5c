import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { specOf, versionOf } from "../../../test/support/specs.ts";
import { asMonoMs, asWallMs } from "../../core/time.ts";
import type { TrafficPolicy } from "../../domain/endpoint.ts";
import type { RolledVersion, Rollout, VersionPhase } from "../../domain/rollout.ts";
import { decideRollout } from "./decide.ts";
import { initRollout, type RolloutMemory } from "./memory.ts";
import { computeWave } from "./split.ts";
import type { RolloutWorld, VersionFacts } from "./world.ts";

const made = ["./v1", "./v2", "./v3"].map((model) => versionOf(specOf("iris", { model })));
const [v1, v2, v3] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
const latest = (canaryPercent = 100): TrafficPolicy => ({ kind: "latest", canaryPercent });
const nowAt = (ms: number) => ({ mono: asMonoMs(ms), wall: asWallMs(1_000_000 + ms) });

/** Plays an endpoint: the fact of one decision is in the world of the next. */
class Endpoint {
  memory: RolloutMemory = initRollout(null);
  fact: Rollout | null = null;
  reason = "";
  atMs = 0;
  wish: RolloutWorld["wish"] = { deployNumber: 1, traffic: latest(), keepVersions: 2 };
  candidate: RolloutWorld["candidate"] = v1;
  loadTimes: RolloutWorld["loadTimes"] = [];
  readonly facts = new Map<string, Partial<VersionFacts>>();

  world(): RolloutWorld {
    const { wish, candidate, loadTimes, fact: previous } = this;
    const nothing = { wanted: null, wantedAtMs: null, granted: null, ready: 0, existing: 0, crashLooping: false };
    const versions = made.map(({ id }) => ({ id, ...nothing, lastLog: [], ...this.facts.get(id) }));
    return { endpoint: "iris", wish, candidate, previous, hostKnown: true, versions, loadTimes };
  }

  /** Lets `ms` pass and decides until nothing changes; gives phases and weights, newest first. */
  after(ms: number): string[] {
    this.atMs += ms;
    for (let n = 0; n < 5; n++) {
      const verdict = decideRollout(this.world(), this.memory, nowAt(this.atMs));
      this.memory = verdict.memory;
      this.fact = verdict.output;
      this.reason = verdict.because.reason;
    }
    return (this.fact?.versions ?? []).map(({ version, phase, weight, sizedForWeight: sized }) => {
      return `${version.artifact.source.slice(2)} ${phase} ${weight}${sized === weight ? "" : ` for ${sized}`}`;
    });
  }

  /** A version has as many ready replicas as it wants. */
  ready(id: string, ready = 1, wanted = ready): void {
    this.facts.set(id, { ready, wanted, granted: wanted, existing: ready, wantedAtMs: this.atMs + 1 });
  }

  deploy(candidate: RolloutWorld["candidate"], traffic: TrafficPolicy = latest()): void {
    this.candidate = candidate;
    this.wish = { deployNumber: (this.wish?.deployNumber ?? 0) + 1, traffic, keepVersions: 2 };
  }
}

/** An endpoint whose first version serves. */
function served(): Endpoint {
  const endpoint = new Endpoint();
  endpoint.after(0);
  endpoint.ready(v1.id);
  endpoint.after(1_000);
  return endpoint;
}

describe("rollout", () => {
  it("stages the first version and gives it all traffic once one replica is ready", () => {
    const endpoint = new Endpoint();
    expect(endpoint.after(0)).toEqual(["v1 staging 0 for 100"]);
    endpoint.ready(v1.id, 1, 3);
    expect(endpoint.after(10)).toEqual(["v1 serving 100"]);
  });

  it("moves traffic only when all wanted replicas of the new version are ready, then keeps the old one", () => {
    const endpoint = served();
    endpoint.deploy(v2);
    expect(endpoint.after(10)).toEqual(["v2 staging 0 for 100", "v1 serving 100"]);
    endpoint.ready(v2.id, 2, 3);
    expect(endpoint.after(5_000)).toEqual(["v2 staging 0 for 100", "v1 serving 100"]);
    endpoint.ready(v2.id, 3);
    expect(endpoint.after(10)).toEqual(["v2 serving 100", "v1 draining 0"]);
    endpoint.facts.set(v1.id, { existing: 0 });
    expect(endpoint.after(10)).toEqual(["v2 serving 100", "v1 kept 0"]);
  });

  it("moves nothing to a new version of which nobody has said what it wants or gets, however long that takes", () => {
    const endpoint = served();
    endpoint.deploy(v2);
    endpoint.after(10);
    for (const unsaid of [{ wanted: null }, { granted: null }]) {
      endpoint.ready(v2.id);
      endpoint.facts.set(v2.id, { ...endpoint.facts.get(v2.id), ...unsaid });
      expect(endpoint.after(5_000)).toEqual(["v2 staging 0 for 100", "v1 serving 100"]);
    }
  });

  it("says that it waits for the next version while that is being prepared, and needs no look at the clock then", () => {
    const endpoint = served();
    endpoint.candidate = null;
    endpoint.after(10);
    expect(endpoint.reason).toBe("hold: preparing");
    expect(decideRollout(endpoint.world(), endpoint.memory, nowAt(endpoint.atMs)).wakeAtMs).toBe(null);
    endpoint.candidate = v1;
    endpoint.after(10);
    expect(endpoint.reason).toBe("hold: as wanted");
  });

  it("does not trust a wanted count that is older than the weight the version is sized for", () => {
    const endpoint = served();
    endpoint.facts.set(v2.id, { ready: 1, wanted: 1, granted: 1, wantedAtMs: 0 });
    endpoint.deploy(v2);
    expect(endpoint.after(10)).toEqual(["v2 staging 0 for 100", "v1 serving 100"]);
    expect(endpoint.after(1_000)).toEqual(["v2 serving 100", "v1 draining 0"]);
  });

  it("gives a canary its share beside its predecessor, and all of it when the share is raised", () => {
    const endpoint = served();
    endpoint.deploy(v2, latest(10));
    endpoint.after(10);
    endpoint.ready(v2.id);
    expect(endpoint.after(10)).toEqual(["v2 serving 10", "v1 serving 90"]);
    endpoint.deploy(v2, latest(100));
    endpoint.ready(v2.id, 1, 4);
    expect(endpoint.after(10)).toEqual(["v2 serving 10 for 100", "v1 serving 90"]);
    endpoint.ready(v2.id, 4);
    expect(endpoint.after(10)).toEqual(["v2 serving 100", "v1 draining 0"]);
  });

  it("rolls back to a kept version by a split that names it, once that one is ready again", () => {
    const endpoint = served();
    endpoint.deploy(v2);
    endpoint.after(10);
    endpoint.ready(v2.id);
    endpoint.facts.set(v1.id, {});
    expect(endpoint.after(10)).toEqual(["v2 serving 100", "v1 kept 0"]);
    endpoint.deploy(v2, { kind: "split", parts: [{ version: v1.id, percent: 100 }] });
    expect(endpoint.after(10)).toEqual(["v2 serving 100", "v1 staging 0 for 100"]);
    endpoint.ready(v1.id);
    expect(endpoint.after(10)).toEqual(["v2 draining 0", "v1 serving 100"]);
  });

  it("gives up a version after three times the longest measured load, traffic untouched, and tries again when the user changes the spec", () => {
    const endpoint = served();
    endpoint.loadTimes = [{ runtime: "onnx", startupMs: 40_000, sizeBytes: v1.artifact.sizeBytes }];
    endpoint.deploy(v2);
    endpoint.after(10);
    endpoint.facts.set(v2.id, { existing: 1, wanted: 1, granted: 1, lastLog: ["no such file"] });
    expect(endpoint.after(119_999)).toEqual(["v2 staging 0 for 100", "v1 serving 100"]);
    expect(endpoint.after(1)).toEqual(["v2 failed 0", "v1 serving 100"]);
    expect(endpoint.fact?.versions[0]?.failure?.lastLog).toEqual(["no such file"]);
    expect(endpoint.after(60_000)).toEqual(["v2 failed 0", "v1 serving 100"]);
    endpoint.deploy(v2);
    expect(endpoint.after(10)).toEqual(["v2 staging 0 for 100", "v1 serving 100"]);
  });

  it("gives up a version sooner when its replica ends again and again", () => {
    const endpoint = served();
    endpoint.deploy(v2);
    endpoint.after(10);
    endpoint.facts.set(v2.id, { existing: 1, crashLooping: true });
    expect(endpoint.after(10)).toEqual(["v2 failed 0", "v1 serving 100"]);
  });

  it("drops a version that was superseded while it staged", () => {
    const endpoint = served();
    endpoint.deploy(v2);
    endpoint.after(10);
    endpoint.facts.set(v2.id, { existing: 1 });
    endpoint.deploy(v3);
    expect(endpoint.after(10)).toEqual(["v3 staging 0 for 100", "v2 draining 0", "v1 serving 100"]);
    endpoint.facts.set(v2.id, {});
    expect(endpoint.after(10)).toEqual(["v3 staging 0 for 100", "v1 serving 100"]);
  });

  it("exchanges in waves where the grant is short of what is wanted", () => {
    const endpoint = served();
    endpoint.deploy(v2);
    endpoint.after(10);
    const short = { wanted: 4, granted: 1, existing: 1, wantedAtMs: 1e9 };
    endpoint.facts.set(v2.id, { ...short, ready: 1 });
    expect(endpoint.after(10)).toEqual(["v2 serving 25 for 100", "v1 serving 75"]);
    endpoint.facts.set(v2.id, { ...short, granted: 3, ready: 3 });
    expect(endpoint.after(10)).toEqual(["v2 serving 75 for 100", "v1 serving 25"]);
    endpoint.facts.set(v2.id, { ...short, granted: 4, ready: 4 });
    expect(endpoint.after(10)).toEqual(["v2 serving 100", "v1 draining 0"]);
  });

  it.each([
    ["later than before", 2_000_000],
    ["earlier than before: it was set back", 1],
  ])("after a restart gives a staging version its whole budget on the new clock, on a wall clock %s", (_, wallMs) => {
    const endpoint = new Endpoint();
    endpoint.after(500_000);
    endpoint.memory = initRollout(null);
    const restarted = { mono: asMonoMs(5), wall: asWallMs(wallMs) };
    const verdict = decideRollout(endpoint.world(), endpoint.memory, restarted);
    // Nothing measured: the default budget of 10 minutes, from 5 ms on the new clock.
    expect(verdict.output?.versions[0]).toMatchObject({ phase: "staging", sinceMs: 5, giveUpAtMs: 600_005 });
  });

  it("gives a version up in time though the wall clock was set back meanwhile", () => {
    const endpoint = new Endpoint();
    endpoint.after(0);
    endpoint.facts.set(v1.id, { existing: 1, wanted: 1, granted: 1 });
    const phaseAt = (monoMs: number) =>
      decideRollout(endpoint.world(), endpoint.memory, { mono: asMonoMs(monoMs), wall: asWallMs(1) }).output
        ?.versions[0]?.phase;
    // Nothing measured: the default budget of 10 minutes.
    expect([phaseAt(599_999), phaseAt(600_000)]).toEqual(["staging", "failed"]);
  });

  it("drains everything when the endpoint is deleted, then removes its fact", () => {
    const endpoint = served();
    endpoint.wish = null;
    expect(endpoint.after(10)).toEqual(["v1 draining 0"]);
    endpoint.facts.set(v1.id, {});
    endpoint.after(10);
    expect(endpoint.fact).toBe(null);
  });
});

const phases = fc.constantFrom<VersionPhase>("staging", "serving", "draining", "kept", "failed");
const facts = fc.record({
  wanted: fc.option(fc.nat(4)),
  wantedAtMs: fc.constant(500),
  granted: fc.option(fc.nat(4)),
  ready: fc.nat(4),
  existing: fc.nat(4),
  crashLooping: fc.boolean(),
  lastLog: fc.constant([]),
});
const policies = fc.oneof(
  fc.integer({ min: 1, max: 100 }).map(latest),
  fc.integer({ min: 0, max: 100 }).map(
    (percent): TrafficPolicy => ({
      kind: "split",
      parts: [
        { version: v1.id, percent },
        { version: v2.id, percent: 100 - percent },
      ],
    }),
  ),
);
const worlds = fc
  .record({
    policy: fc.option(policies, { freq: 8 }),
    candidate: fc.option(fc.constantFrom(...made)),
    phases: fc.array(phases, { maxLength: 3 }),
    facts: fc.tuple(facts, facts, facts),
    hostKnown: fc.boolean(),
  })
  .map((drawn): RolloutWorld => {
    const serving = drawn.phases.filter((phase) => phase === "serving").length;
    let seen = 0;
    const versions = drawn.phases.map((phase, n): RolledVersion => {
      if (phase === "serving") seen += 1;
      const share = Math.floor(100 / Math.max(1, serving));
      const weight = phase !== "serving" ? 0 : seen === serving ? 100 - share * (serving - 1) : share;
      const giveUpAtMs = phase === "staging" ? asMonoMs(2_000) : null;
      const version = made[n] ?? v1;
      return { version, phase, weight, sizedForWeight: weight, sinceMs: asMonoMs(0), giveUpAtMs, failure: null };
    });
    return {
      endpoint: "iris",
      wish: drawn.policy === null ? null : { deployNumber: 3, traffic: drawn.policy, keepVersions: 1 },
      candidate: drawn.candidate,
      previous: versions.length === 0 ? null : { endpoint: "iris", versions, updatedAtMs: asWallMs(1_000_500) },
      hostKnown: drawn.hostKnown,
      versions: made.map(({ id }, n) => ({ id, ...(drawn.facts[n] ?? drawn.facts[0]) })),
      loadTimes: [],
    };
  });

describe("rollout, for any world", () => {
  const decide = (world: RolloutWorld, memory = initRollout(null)) => decideRollout(world, memory, nowAt(1_000));

  it("decides the same when asked twice, whatever the order of what is known of versions", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const once = decide(world);
        expect(decide({ ...world, versions: world.versions.toReversed() }, once.memory).output).toEqual(once.output);
      }),
    );
  });

  it("has weights that sum to 100 or to 0, on serving versions only, and never takes traffic from an endpoint that has it", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const versions = decide(world).output?.versions ?? [];
        const sum = versions.reduce((total, { weight }) => total + weight, 0);
        const before = world.previous?.versions.reduce((total, { weight }) => total + weight, 0) ?? 0;
        expect([0, 100]).toContain(sum);
        if (world.wish !== null && before === 100) expect(sum).toBe(100);
        for (const { phase, weight } of versions) expect(weight > 0).toBe(phase === "serving");
      }),
    );
  });

  it("never starts to send traffic to a version without a ready replica, unless that one serves and sleeps", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        for (const { version, weight } of decide(world).output?.versions ?? []) {
          const before = world.previous?.versions.find((rolled) => rolled.version.id === version.id);
          const isNew = weight > 0 && before?.phase !== "serving";
          if (isNew) expect(world.versions.find(({ id }) => id === version.id)?.ready).toBeGreaterThan(0);
        }
      }),
    );
  });
});

it("a wave keeps the sum, gives growing versions no more than their target and takes no more than there is to lose", () => {
  const cuts = fc.tuple(fc.nat(100), fc.nat(100)).map(([a, b]) => {
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    return [low, high - low, 100 - high];
  });
  fc.assert(
    fc.property(
      cuts,
      cuts,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 3, maxLength: 3 }),
      (from, to, shares) => {
        const steps = from.map((weight, n) => ({
          id: `v${n}`,
          from: weight,
          to: to[n] ?? 0,
          readyShare: shares[n] ?? 0,
        }));
        const weights = computeWave(steps);
        expect([...weights.values()].reduce((sum, weight) => sum + weight, 0)).toBe(100);
        for (const step of steps) {
          const weight = weights.get(step.id) ?? -1;
          expect(weight).toBeGreaterThanOrEqual(Math.min(step.from, step.to));
          expect(weight).toBeLessThanOrEqual(Math.max(step.from, step.to));
        }
      },
    ),
  );
});
