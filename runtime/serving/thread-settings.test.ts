import { expect, test } from "vitest";
import { computeThreads, threadEnvironment } from "./thread-settings.ts";

test("threads are the allotment rounded up, at least one, never the host's cores", () => {
  expect([0.1, 1, 1.5, 2, 3.0000000001].map(computeThreads)).toEqual([1, 1, 2, 2, 3]);
});

test("every library gets the same number, and tokenizers stay serial on one core", () => {
  const { OMP_NUM_THREADS, MKL_NUM_THREADS, RAYON_NUM_THREADS, TOKENIZERS_PARALLELISM } = threadEnvironment(1);
  expect([OMP_NUM_THREADS, MKL_NUM_THREADS, RAYON_NUM_THREADS, TOKENIZERS_PARALLELISM]).toEqual([
    "1",
    "1",
    "1",
    "false",
  ]);
  expect(threadEnvironment(4)).toMatchObject({ OPENBLAS_NUM_THREADS: "4", TOKENIZERS_PARALLELISM: "true" });
});
