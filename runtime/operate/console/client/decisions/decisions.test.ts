import { describe, expect, test } from "vitest";
import type { DecisionRow } from "../../../views/decision-view.ts";
import { addNewest, addOlder } from "./pages.ts";
import { controllerParts, shadowsOf } from "./shadows.ts";
import { inputsSummary, outputSummary } from "./summary.ts";

function decision(
  id: number,
  fields: Partial<Omit<DecisionRow, "atWallMs">> & { atWallMs?: number } = {},
): DecisionRow {
  const row = {
    id,
    controller: "autoscaler",
    key: "v",
    atWallMs: id * 1_000,
    reason: "hold",
    inputs: {},
    output: { replicas: 1 },
  };
  return { ...row, replayable: true, ...fields } as DecisionRow;
}

describe("pages of decisions", () => {
  const page = (nextBeforeId: number | null, ...ids: number[]) => ({
    decisions: ids.map((id) => decision(id)),
    nextBeforeId,
  });
  const ids = (held: { rows: readonly DecisionRow[] }) => held.rows.map(({ id }) => id);

  test("join where they overlap", () => {
    const held = addNewest(null, page(2, 4, 3, 2));
    expect(ids(addNewest(held, page(3, 5, 4, 3)))).toEqual([5, 4, 3, 2]);
    expect(addNewest(held, page(2, 4, 3, 2))).toBe(held);
  });

  test("leave no hole: what the newest page does not reach is dropped", () => {
    const held = addNewest(null, page(null, 3, 2, 1));
    expect(addNewest(held, page(8, 10, 9, 8))).toEqual({ rows: page(8, 10, 9, 8).decisions, hasOlder: true });
  });

  test("grow at the old end until the log's own end", () => {
    const held = addNewest(null, page(3, 4, 3));
    expect(addOlder(held, page(null, 3, 2, 1))).toMatchObject({ hasOlder: false });
    expect(ids(addOlder(held, page(null, 3, 2, 1)))).toEqual([4, 3, 2, 1]);
  });
});

describe("shadows", () => {
  const law = "autoscaler/shadow:new-law";

  test("a controller's name tells whose shadow it is", () => {
    expect(controllerParts(law)).toEqual({ live: "autoscaler", shadow: "new-law" });
    expect(controllerParts("fleet")).toEqual({ live: "fleet", shadow: null });
  });

  test("stand beside the live decision as they were in force then", () => {
    const live = decision(5, { atWallMs: 10_000 });
    const old = decision(1, { controller: law, atWallMs: 1_000, output: { replicas: 9 } });
    const now = decision(4, { controller: law, atWallMs: 10_001, output: { replicas: 2 } });
    const later = decision(9, { controller: law, atWallMs: 60_000, output: { replicas: 7 } });
    const other = decision(3, { controller: law, key: "w" });
    expect(shadowsOf(live, [later, live, now, other, old])).toEqual([
      { shadow: "new-law", decision: now, agrees: false },
    ]);
  });

  test("agree when their output is the live one's", () => {
    const live = decision(5);
    expect(shadowsOf(live, [decision(4, { controller: law, reason: "another" })])[0]?.agrees).toBe(true);
  });

  test("have no shadows themselves", () => {
    const shadow = decision(5, { controller: law });
    expect(shadowsOf(shadow, [shadow, decision(4)])).toEqual([]);
  });
});

describe("a decision in one line", () => {
  test("tells inputs in units that their names end in", () => {
    expect(inputsSummary({ demand: 1.26, memoryBytes: 2 ** 30, waitMs: 2_500, staging: null, ok: true })).toBe(
      "demand 1.3 · memoryBytes 1.0 GiB · waitMs 2.5 s · staging - · ok true",
    );
  });

  test("tells each controller's output by what matters in it", () => {
    const id = "iris-0123456789";
    expect(outputSummary({ version: id, replicas: 3, targetConcurrency: 4 })).toBe("replicas 3 · target concurrency 4");
    expect(outputSummary({ endpoint: "iris", versions: [{ version: { id }, phase: "serving", weight: 90 }] })).toBe(
      "0123456789 serving 90 %",
    );
    expect(
      outputSummary({
        version: { id },
        replicas: [
          { id: "a", draining: true },
          { id: "b", draining: false },
        ],
      }),
    ).toBe("2 replicas, 1 draining");
    expect(outputSummary({ [id]: { version: id, replicas: 2 } })).toBe(`${id} 2`);
    const route = { split: [{ version: id, weight: 100 }], problem: null };
    const routed = [{ id, hardCap: 20, replicas: [{ id: "a", draining: false }] }];
    expect(outputSummary({ endpoint: route, versions: routed })).toBe("0123456789 100 % to 1 replica, at most 20 each");
    expect(outputSummary({ endpoint: { split: [], problem: "no such file" }, versions: [] })).toBe(
      "no version serves: no such file",
    );
    expect(outputSummary(null)).toBe("nothing");
  });

  test("is cut where a table's cell ends", () => {
    const grants = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`version-${index}`, { replicas: index }]),
    );
    expect(outputSummary(grants)).toHaveLength(140);
  });
});
