import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { billOfMaterials } from "./bill.ts";
import { listPackage, productionPackages } from "./packages.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "penstock-packages-"));
  const packages = {
    "": { version: "1.0.0" },
    "node_modules/@scope/tool": { version: "1.2.3", integrity: "sha512-AAEC" },
    "node_modules/app": { version: "2.0.0" },
    "node_modules/app/node_modules/inner": { version: "3.0.0", integrity: "sha1-/w==" },
    "node_modules/only-dev": { version: "1.0.0", dev: true },
    "node_modules/usable": { version: "4.0.0", devOptional: true },
    "node_modules/not-installed": { version: "1.0.0", optional: true },
    "node_modules/workspace": { link: true, resolved: "workspace" },
  };
  writeFileSync(join(root, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
  for (const path of ["@scope/tool", "app", "app/node_modules/inner", "only-dev", "usable", "workspace"]) {
    write(`node_modules/${path}/package.json`);
  }
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), "{}");
}

test("an image carries what runs and is installed: no tools, even those that it could use, nothing that is missing here, no workspaces", () => {
  expect(productionPackages(root).map(({ name, version }) => `${name}@${version}`)).toEqual([
    "@scope/tool@1.2.3",
    "app@2.0.0",
    "inner@3.0.0",
  ]);
});

test("a package is its files without those that no program reads; packages inside it are their own", async () => {
  for (const file of ["index.js", "index.d.ts", "index.js.map", "README.md", "LICENSE"])
    write(`node_modules/app/${file}`);
  const [, app] = productionPackages(root);
  const entries = await listPackage(root, app!, "opt");
  expect(entries.map(({ path }) => path)).toEqual([
    "opt/node_modules/app/LICENSE",
    "opt/node_modules/app/index.js",
    "opt/node_modules/app/package.json",
  ]);
});

test("a bill of materials names each package as registries do, with the lockfile's hash in hexadecimal digits", () => {
  const bill = JSON.parse(billOfMaterials("penstock/core", "1.0.0", productionPackages(root)));
  expect(bill).toMatchObject({
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    metadata: { component: { type: "container", name: "penstock/core", version: "1.0.0" } },
  });
  expect(bill.components.slice(0, 3)).toEqual([
    {
      type: "library",
      name: "@scope/tool",
      version: "1.2.3",
      purl: "pkg:npm/%40scope/tool@1.2.3",
      hashes: [{ alg: "SHA-512", content: "000102" }],
    },
    { type: "library", name: "app", version: "2.0.0", purl: "pkg:npm/app@2.0.0" },
    {
      type: "library",
      name: "inner",
      version: "3.0.0",
      purl: "pkg:npm/inner@3.0.0",
      hashes: [{ alg: "SHA-1", content: "ff" }],
    },
  ]);
});
