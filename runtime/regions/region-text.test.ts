import { expect, test } from "vitest";
import { progressBar, regionBanner } from "./region-text.ts";

const REACH = { baseUrl: "http://127.0.0.1:8080", keysRequired: false };

test("the banner names the surfaces of the region", () => {
  expect(regionBanner({ ...REACH, name: "local", dataDir: "/data" })).toBe(
    [
      "Region local serves at http://127.0.0.1:8080",
      "  console  http://127.0.0.1:8080/console",
      "  API      http://127.0.0.1:8080/docs",
      "  metrics  http://127.0.0.1:8080/metrics",
      "  data     /data",
      "  CLI      penstock get --url http://127.0.0.1:8080",
      "",
    ].join("\n"),
  );
});

test("the bar fills with the bytes and never past its end", () => {
  const MIB = 1024 ** 2;
  expect(progressBar(0, 0)).toBe("[------------------------]   0 %  0.0 of 0.0 MiB");
  expect(progressBar(25 * MIB, 100 * MIB)).toBe("[######------------------]  25 %  25.0 of 100.0 MiB");
  expect(progressBar(101 * MIB, 100 * MIB)).toBe("[########################] 100 %  101.0 of 100.0 MiB");
});
