import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestRegion } from "./region.ts";

const IRIS = join(import.meta.dirname, "..", "..", "examples", "iris", "iris.onnx");
/** They fall asleep together and are woken one after the other: most of a round is the wait for sleep. */
const NAMES = ["one", "two", "three", "four", "five"];
const ROUNDS = 4;
/** How many requests come at once while nothing runs yet: all are held, one start serves them. */
const AT_ONCE = 5;
/** The least that a spec allows. */
const SLEEP_AFTER_MS = 1_000;

let region: TestRegion;
beforeAll(async () => {
  const concurrency = { min: 0, max: 4 };
  const endpoints = NAMES.map((name) => ({ name, model: IRIS, concurrency, sleepAfterMs: SLEEP_AFTER_MS }));
  region = await TestRegion.start({ file: { endpoints } });
});
afterAll(() => region?.end());

const sleeps = (name: string) =>
  region.whenEndpoint(name, "sleeps", ({ status, replicas }) => status.word === "asleep" && replicas.length === 0);

test(`${NAMES.length * ROUNDS} times an endpoint without a replica is woken by its first requests, and each is answered`, async () => {
  const wokenInMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(NAMES.map(sleeps));
    for (const name of NAMES) {
      expect(region.pidOf(name)).toBe(0);
      const startedAtMs = performance.now();
      const asked = Array.from({ length: AT_ONCE }, () =>
        region.post(`/serving-endpoints/${name}/invocations`, { inputs: [[5.1, 3.5, 1.4, 0.2]] }),
      );
      for (const { status, body } of await Promise.all(asked)) {
        expect({ status, body }).toEqual({ status: 200, body: { predictions: [0] } });
      }
      wokenInMs.push(performance.now() - startedAtMs);
    }
  }
  const sorted = wokenInMs.toSorted((a, b) => a - b).map(Math.round);
  console.log(`${sorted.length} wake-ups: median ${sorted[sorted.length / 2]} ms, longest ${sorted.at(-1)} ms`);
  await region.whenIdle();
}, 240_000);
