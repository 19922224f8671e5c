import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLog } from "../adapters/log.ts";
import { encodeLogLines } from "../contract/wire/log-file.ts";
import { runController } from "./region-controller.ts";

test("a mistake that comes into the region file while the region runs leaves endpoints and keys as they are over a restart", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "penstock-controller-"));
  const regionFile = join(dataDir, "region.yaml");
  const sha256 = "a".repeat(64);
  writeFileSync(
    regionFile,
    JSON.stringify({
      endpoints: [{ name: "served", run: { url: "http://127.0.0.1:1" } }],
      keys: [{ name: "listed", sha256, admin: true }],
    }),
  );
  const lines: string[] = [];
  const run = () => runIn(dataDir, (line) => lines.push(line));
  const names = async (path: string, list: string): Promise<string[]> => {
    const answer = await getJson(join(dataDir, "a.sock"), path);
    return answer[list]?.map(({ name }) => name) ?? [];
  };
  const first = await run();
  await first.stop();
  writeFileSync(regionFile, "endpoints: [{ nam: served }]");
  const second = await run();
  try {
    expect(lines.join("")).toMatch(/REGION_FILE_NOT_APPLIED code=PENSTOCK_REGION_FILE_INVALID/);
    expect(await names("/api/v1/endpoints", "endpoints")).toEqual(["served"]);
    expect(await names("/api/v1/keys", "keys")).toEqual(["listed"]);
  } finally {
    await second.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("what an endpoint's replicas wrote in an earlier life of the region is in its log", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "penstock-controller-"));
  writeFileSync(join(dataDir, "region.yaml"), 'endpoints: [{ name: served, run: { url: "http://127.0.0.1:1" } }]');
  mkdirSync(join(dataDir, "logs"));
  const atMs = Date.UTC(2026, 0, 31);
  const source = "served-0123456789-1";
  writeFileSync(join(dataDir, "logs", `${source}.log`), encodeLogLines(["loading", "ready"], new Date(atMs)));
  const controller = await runIn(dataDir, () => {});
  try {
    const { lines } = await getJson(join(dataDir, "a.sock"), "/api/v1/logs?endpoint=served");
    expect(lines).toEqual(["loading", "ready"].map((line) => ({ source, atMs, line })));
  } finally {
    await controller.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

/** A controller on this data folder, with the region file in it. */
function runIn(dataDir: string, write: (line: string) => void) {
  return runController(
    {
      region: "local",
      dataDir,
      controllerSocket: join(dataDir, "c.sock"),
      apiSocket: join(dataDir, "a.sock"),
      baseUrl: "http://127.0.0.1:0",
      regionFile: join(dataDir, "region.yaml"),
      keysRequired: false,
      shadows: [],
    },
    { cacheDir: dataDir, log: createLog({ level: "error", human: true, write }) },
  );
}

function getJson(socketPath: string, path: string): Promise<Record<string, { readonly name: string }[]>> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () => resolve(JSON.parse(text)));
    })
      .on("error", reject)
      .end();
  });
}
