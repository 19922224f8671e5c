import { describe, expect, it } from "vitest";
import { fleet } from "../../runtime/control/fleet/controller.ts";
import { rollout } from "../../runtime/control/rollout/controller.ts";
import { REGION_KEY } from "../../runtime/domain/board.ts";
import { playChaos } from "../support/chaos-story.ts";
import { ModelledRegion } from "../support/modelled-region.ts";
import { specOf, versionOf } from "../support/specs.ts";

const MAIN_V4 = versionOf(specOf("main", { model: "./v4" })).id;
const SIDE_V2 = versionOf(specOf("side", { model: "./side-v2" })).id;

function weightsOf(region: ModelledRegion, endpoint: string): Record<string, number> {
  const rollout = region.control.board.get("rollout", endpoint);
  const versions = rollout.kind === "known" ? rollout.value.versions : [];
  return Object.fromEntries(
    versions.filter(({ weight }) => weight > 0).map(({ version, weight }) => [version.id, weight]),
  );
}

/** The replicas that run, by version, and the replicas that the autoscaler wants: both null-free once settled. */
function settledCounts(region: ModelledRegion, version: string) {
  const wanted = region.control.board.get("wanted", version);
  const running = [...region.host.replicas.values()].filter((replica) => replica.version.id === version);
  return { wanted: wanted.kind === "known" ? wanted.value.replicas : null, running: running.length };
}

describe("control of a region under faults", () => {
  it.each([1, 2, 3, 4])("keeps every rule and settles once the faults are over (seed %i)", (seed) => {
    const region = playChaos(seed);
    expect(region.checker.violations).toEqual([]);
    expect(weightsOf(region, "main")).toEqual({ [MAIN_V4]: 100 });
    expect(weightsOf(region, "side")).toEqual({ [SIDE_V2]: 100 });
    expect(region.control.board.get("rollout", "gone").kind).toBe("missing");
    const main = settledCounts(region, MAIN_V4);
    expect(main.running).toBe(main.wanted);
    expect([...region.host.replicas.values()].map((replica) => replica.version.endpoint)).not.toContain("gone");
    expect(region.routers.map((router) => router.queued)).toEqual([0, 0]);
    const snapshot = region.control.board.get("snapshot", REGION_KEY);
    const newest = snapshot.kind === "known" ? snapshot.value.generation : null;
    expect(region.routers.map((router) => router.snapshot?.generation)).toEqual([newest, newest]);
  });

  it("makes the same decisions from the same seed, and others from another", () => {
    const hashes = [7, 7, 8].map((seed) => playChaos(seed).traceHash());
    expect(hashes[0]).toBe(hashes[1]);
    expect(hashes[0]).not.toBe(hashes[2]);
  });
});

describe("control of a region without faults", () => {
  it("starts a replica of a sleeping endpoint within 250 ms of a request and answers it", () => {
    const region = new ModelledRegion(1);
    region.chaos.faulty = false;
    region.apply(specOf("iris"));
    region.clock.runFor(300_000);
    expect(region.host.replicas.size).toBe(0);
    region.routers[0]?.request("iris");
    // Way of the wake 1 ms, then the chain runs in one turn, at most the autoscaler's gap of 200 ms after its last decision.
    region.clock.runFor(250);
    expect(region.host.replicas.size).toBe(1);
    // Start 1,500 ms, then a report, a snapshot and the answer: service times are drawn with a mean of 150 ms.
    region.clock.runFor(5_000);
    expect(region.routers[0]?.completed).toBe(1);
  });
});

describe("the harness itself", () => {
  it("finds a fleet that ends replicas without waiting for their work", () => {
    const hasty: typeof fleet = {
      ...fleet,
      decide: (world, memory, now) => {
        const verdict = fleet.decide(world, memory, now);
        const replicas = verdict.output?.replicas.filter((replica) => !replica.draining) ?? [];
        return { ...verdict, output: verdict.output && { ...verdict.output, replicas } };
      },
    };
    expect(playChaos(1, { fleet: hasty }).checker.violations.join("\n")).toContain("requests in flight");
  });

  it("finds a rollout that moves traffic before the new version is ready", () => {
    const hasty: typeof rollout = {
      ...rollout,
      decide: (world, memory, now) => {
        const blind = world.versions.map((facts) => ({
          ...facts,
          ready: 1,
          wanted: 1,
          granted: 1,
          wantedAtMs: now.mono + 1,
        }));
        return rollout.decide({ ...world, versions: blind }, memory, now);
      },
    };
    expect(playChaos(1, { rollout: hasty }).checker.violations.join("\n")).toContain("never ready");
  });
});
