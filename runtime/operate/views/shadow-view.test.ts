import { expect, test } from "vitest";
import { FakeRegion } from "../testing/fake-region.ts";
import { compareShadow } from "./shadow-view.ts";

const controller = "autoscaler/shadow:slow";

test("each shadow decision stands beside the real one in force on the same key", () => {
  const region = new FakeRegion();
  region.decide({ controller, key: "iris-a", output: { replicas: 1 } });
  region.decide({ key: "iris-a", output: { replicas: 3 } });
  region.decide({ key: "iris-b", output: { replicas: 9 } });
  region.decide({ controller, key: "iris-a", output: { replicas: 3 } });
  region.decide({ controller, key: "iris-a", output: { replicas: 2 } });
  region.decide({ key: "iris-a", output: { replicas: 2 } });
  const rows = compareShadow(region.decisions, region.board, region.shadows[0]!, { limit: 10 });
  expect(rows.map(({ shadow, real, differs }) => [shadow.id, real?.id ?? null, differs])).toEqual([
    [5, 2, true],
    [4, 2, false],
    [1, null, true],
  ]);
});
