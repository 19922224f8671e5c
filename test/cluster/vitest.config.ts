import { defineConfig } from "vitest/config";

/** Suites that need the test cluster; run inside its network (test/run.ts). One after another: they share its node. */
export default defineConfig({
  test: {
    include: ["test/cluster/**/*.cluster.ts"],
    pool: "forks",
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
