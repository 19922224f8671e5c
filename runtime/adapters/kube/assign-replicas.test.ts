import fc from "fast-check";
import { expect, test } from "vitest";
import { type AssignedPod, assignReplicas } from "./assign-replicas.ts";

const pod = (uid: string, change: Partial<AssignedPod> = {}): AssignedPod => ({
  uid,
  replica: null,
  createdAtMs: 0,
  ending: false,
  ...change,
});

test("new pods take the wanted replicas in order, the oldest first", () => {
  const assigned = assignReplicas(["v-1", "v-2"], [pod("b", { createdAtMs: 2 }), pod("a", { createdAtMs: 1 })]);
  expect([...assigned]).toEqual([
    ["a", "v-1"],
    ["b", "v-2"],
  ]);
});

test("a pod keeps its replica, also one that is no longer wanted; its successor takes it while it ends", () => {
  const old = pod("old", { replica: "v-1", ending: true });
  expect(assignReplicas(["v-1"], [old, pod("new", { createdAtMs: 1 })]).get("new")).toBe("v-1");
  expect(assignReplicas(["v-2"], [pod("a", { replica: "v-1" })]).get("a")).toBe("v-1");
});

test("of two pods that say they are one replica the older is, the other takes another", () => {
  const pods = [pod("a", { replica: "v-1" }), pod("b", { replica: "v-1", createdAtMs: 1 })];
  expect([...assignReplicas(["v-1", "v-2"], pods)]).toEqual([
    ["a", "v-1"],
    ["b", "v-2"],
  ]);
});

test("property: no two living pods are one replica, none changes, and no wanted replica is left while a pod is free", () => {
  const ids = ["v-1", "v-2", "v-3", "v-4"];
  const pods = fc.uniqueArray(
    fc.record({
      uid: fc.string({ minLength: 1, maxLength: 4 }),
      replica: fc.option(fc.constantFrom(...ids), { nil: null }),
      createdAtMs: fc.nat(3),
      ending: fc.boolean(),
    }),
    { selector: (one) => one.uid, maxLength: 8 },
  );
  fc.assert(
    fc.property(fc.subarray(ids), pods, (wanted, given) => {
      const assigned = assignReplicas(wanted, given);
      const living = given.filter((one) => !one.ending);
      const lives = living.flatMap(({ uid }) => assigned.get(uid) ?? []);
      expect(new Set(lives).size).toBe(lives.length);
      const free = living.filter(({ uid }) => !assigned.has(uid));
      if (free.length > 0) expect(wanted.filter((id) => !lives.includes(id))).toEqual([]);
      const again = given.map((one) => ({ ...one, replica: assigned.get(one.uid) ?? null }));
      expect(assignReplicas(wanted, again)).toEqual(assigned);
    }),
  );
});
