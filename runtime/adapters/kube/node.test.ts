import { expect, test } from "vitest";
import { machineOf, type Node } from "./node.ts";

const node = (cpu: string, memory: string, change: Partial<Node> = {}, ready = "True"): Node => ({
  metadata: { name: "n" },
  status: { allocatable: { cpu, memory }, conditions: [{ type: "Ready", status: ready }] },
  ...change,
});

test("what a cluster has is what its usable nodes allow, in cores and bytes", () => {
  const nodes = [node("1900m", "1Gi"), node("2", "1024Ki"), node("8", "8Gi", {}, "Unknown")];
  expect(machineOf([...nodes, node("8", "8Gi", { spec: { unschedulable: true } })])).toMatchObject({
    cpuCount: expect.closeTo(3.9, 9),
    memoryBytes: 1024 ** 3 + 1024 ** 2,
  });
});

test("without nodes there is nothing to give", () => {
  expect(machineOf([])).toMatchObject({ cpuCount: 0, memoryBytes: 0 });
});
