import fc from "fast-check";
import { expect, test } from "vitest";
import { FairQueue, type Waiter } from "./queue.ts";

class Item implements Waiter<Item> {
  readonly key: string;
  readonly id: number;
  waitUntilMs: number;
  nextInKey: Item | null = null;
  previousInKey: Item | null = null;
  nextByAge: Item | null = null;
  previousByAge: Item | null = null;
  constructor(key: string, id: number, waitUntilMs: number) {
    this.key = key;
    this.id = id;
    this.waitUntilMs = waitUntilMs;
  }
}

/** The slow reference: plain arrays, one per key, and the keys in the order of their turns. */
class SlowQueue {
  readonly lines = new Map<string, Item[]>();
  turns: string[] = [];

  push(item: Item): void {
    if (!this.turns.includes(item.key)) this.turns.push(item.key);
    this.lines.set(item.key, [...(this.lines.get(item.key) ?? []), item]);
  }
  peek(): Item | null {
    while (this.turns.length > 0 && this.lines.get(this.turns[0]!)!.length === 0) this.turns.shift();
    return this.lines.get(this.turns[0] ?? "")?.[0] ?? null;
  }
  serve(item: Item): void {
    const key = this.turns.shift()!;
    this.remove(item);
    if (this.lines.get(key)!.length > 0) this.turns.push(key);
  }
  remove(item: Item): void {
    this.lines.set(
      item.key,
      this.lines.get(item.key)!.filter((other) => other !== item),
    );
  }
  all(): Item[] {
    return [...this.lines.values()].flat();
  }
}

type Step =
  | { readonly do: "push"; readonly key: string; readonly waitMs: number }
  | { readonly do: "serve" }
  | { readonly do: "remove"; readonly pick: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("push" as const), key: fc.constantFrom("a", "b", "c", "d"), waitMs: fc.nat(5) }),
    fc.record({ do: fc.constant("serve" as const) }),
    fc.record({ do: fc.constant("remove" as const), pick: fc.nat() }),
  ),
  { maxLength: 120 },
);

test("serves, drops and orders deadlines exactly as plain arrays do, whatever the order of calls", () => {
  fc.assert(
    fc.property(steps, (script) => {
      const fast = new FairQueue<Item>((item) => item.key);
      const slow = new SlowQueue();
      for (const [index, step] of script.entries()) {
        if (step.do === "push") {
          const item = new Item(step.key, index, index + step.waitMs);
          fast.push(item);
          slow.push(item);
        } else if (step.do === "serve") {
          const next = fast.peek();
          expect(next).toBe(slow.peek());
          if (next !== null) {
            fast.serve(next);
            slow.serve(next);
          }
        } else {
          const items = slow.all();
          const item = items[step.pick % Math.max(1, items.length)];
          if (item !== undefined) {
            fast.remove(item);
            slow.remove(item);
          }
        }
        const deadlines: number[] = [];
        for (let item = fast.deadlines.first; item !== null; item = item.nextByAge) deadlines.push(item.waitUntilMs);
        expect(deadlines).toEqual(
          slow
            .all()
            .map((item) => item.waitUntilMs)
            .sort((a, b) => a - b),
        );
        expect(fast.size).toBe(deadlines.length);
      }
    }),
    { numRuns: 1_000 },
  );
});

test("a workload that floods the queue delays itself: another's single request is served second", () => {
  const queue = new FairQueue<Item>((item) => item.key);
  for (let id = 0; id < 1_000; id++) queue.push(new Item("flood", id, id));
  queue.push(new Item("single", 1_000, 1_000));
  const served: string[] = [];
  for (let count = 0; count < 3; count++) {
    const next = queue.peek()!;
    queue.serve(next);
    served.push(next.key);
  }
  expect(served).toEqual(["flood", "single", "flood"]);
});
