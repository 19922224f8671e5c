import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mountConsole } from "./mount.ts";

// A client of two files stands for the real one, which test/e2e builds and opens in a browser.
let folder: string;
let app: Hono;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-console-"));
  mkdirSync(join(folder, "styles"));
  writeFileSync(join(folder, "main.tsx"), 'document.title = "one";');
  writeFileSync(join(folder, "styles", "console.css"), "body { margin: 0 }");
  app = new Hono();
  mountConsole(app, folder);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function page(): Promise<{ status: number; text: string; assets: string[]; headers: Headers }> {
  const response = await app.request("/console");
  const text = await response.text();
  const assets = [...text.matchAll(/\/console\/console-[0-9a-f]{16}\.(?:js|css)/g)].map(([path]) => path);
  return { status: response.status, text, assets, headers: response.headers };
}

test("the page names one script and one style, which may be cached for ever; the page itself is asked for again", async () => {
  const { assets, headers } = await page();
  expect(assets.map((path) => path.split(".").at(-1)).toSorted()).toEqual(["css", "js"]);
  expect(headers.get("cache-control")).toBe("no-cache");
  for (const path of assets) {
    const asset = await app.request(path);
    expect(asset.status).toBe(200);
    expect(asset.headers.get("cache-control")).toContain("immutable");
  }
});

test("changed sources are built at the next load, under another name; what did not change keeps its name", async () => {
  const before = await page();
  writeFileSync(join(folder, "main.tsx"), 'document.title = "two";');
  const after = await page();
  const nameOf = (assets: string[], ending: string) => assets.find((path) => path.endsWith(ending));
  expect(nameOf(after.assets, ".js")).not.toBe(nameOf(before.assets, ".js"));
  expect(nameOf(after.assets, ".css")).toBe(nameOf(before.assets, ".css"));
  expect((await app.request(nameOf(before.assets, ".js") ?? "")).status).toBe(404);
});

test("sources that can't be built answer a page with file, line and what still works, and heal", async () => {
  writeFileSync(join(folder, "main.tsx"), "const = 1;");
  const broken = await page();
  expect(broken.status).toBe(500);
  expect(broken.text).toContain("main.tsx:1:6");
  expect(broken.text).toContain("penstock get");
  writeFileSync(join(folder, "main.tsx"), "document.title = `fine`;");
  expect((await page()).status).toBe(200);
});

test("the page lets in nothing but the region's own", async () => {
  const policy = (await page()).headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain("unsafe");
});

test("other names under /console are not found", async () => {
  expect((await app.request("/console/main.tsx")).status).toBe(404);
  expect((await app.request("/console/console-0000000000000000.js")).status).toBe(404);
});
