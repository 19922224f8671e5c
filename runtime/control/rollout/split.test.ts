import { expect, it } from "vitest";
import { specOf, versionOf } from "../../../test/support/specs.ts";
import { asMonoMs } from "../../core/time.ts";
import type { RolledVersion, VersionPhase } from "../../domain/rollout.ts";
import { computeTarget } from "./split.ts";

function rolled(model: string, phase: VersionPhase, weight = 0): RolledVersion {
  const version = versionOf(specOf("iris", { model }));
  return { version, phase, weight, sizedForWeight: weight, sinceMs: asMonoMs(0), giveUpAtMs: null, failure: null };
}

const latest = { kind: "latest", canaryPercent: 100 } as const;

it.each([
  ["stages", rolled("./v2", "staging")],
  ["serves", rolled("./v2", "serving", 100)],
])("while the next version is being prepared, traffic stays with the newest one that %s", (_what, current) => {
  const versions = [rolled("./v1", "kept"), current];
  expect(computeTarget(latest, versions, null)).toEqual({ kind: "to", weights: new Map([[current.version.id, 100]]) });
});

it("without any version there is no target, and it says so", () => {
  expect(computeTarget(latest, [rolled("./v1", "kept")], null)).toEqual({ kind: "hold", why: "hold: no version yet" });
});
