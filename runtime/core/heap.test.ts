import fc from "fast-check";
import { expect, it } from "vitest";
import { Heap } from "./heap.ts";

it("gives what sorting what it holds would give, in any order of pushes and pops", () => {
  const steps = fc.array(fc.oneof(fc.nat(20), fc.constant(null)));
  fc.assert(
    fc.property(steps, (drawn) => {
      const heap = new Heap<number>((a, b) => a < b);
      const slow: number[] = [];
      for (const step of drawn) {
        if (step === null) expect(heap.pop()).toBe(slow.shift());
        else {
          heap.push(step);
          slow.push(step);
          slow.sort((a, b) => a - b);
        }
        expect(heap.first).toBe(slow[0]);
      }
    }),
  );
});
