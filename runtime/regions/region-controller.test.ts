import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLog } from "../adapters/log.ts";
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
  const run = () =>
    runController(
      {
        region: "local",
        dataDir,
        controllerSocket: join(dataDir, "c.sock"),
        apiSocket: join(dataDir, "a.sock"),
        baseUrl: "http://127.0.0.1:0",
        regionFile,
        keysRequired: false,
        shadows: [],
      },
      { cacheDir: dataDir, log: createLog({ level: "error", human: true, write: (line) => lines.push(line) }) },
    );
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
