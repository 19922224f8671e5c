import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ImageConfig, writeImage, writeLayer } from "./oci.ts";
import { listFolder } from "./tar.ts";

const CONFIG: ImageConfig = {
  entrypoint: ["/bin/program"],
  env: { PATH: "/bin" },
  workingDir: "/app",
  user: "65532:65532",
  labels: { a: "b" },
};
const LONG = `${"long-name-".repeat(12)}/${"x".repeat(90)}.txt`;
let scratch: string;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "penstock-image-"));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

/** A folder with what archives get wrong: an empty file, a long path, a link, a program. */
function makeFolder(name: string): string {
  const folder = join(scratch, name);
  mkdirSync(join(folder, LONG, ".."), { recursive: true });
  writeFileSync(join(folder, LONG), "far down");
  writeFileSync(join(folder, "empty"), "");
  writeFileSync(join(folder, "program"), "#!/bin/sh\n", { mode: 0o755 });
  symlinkSync("program", join(folder, "link"));
  return folder;
}

const digestOf = (path: string): string => `sha256:${createHash("sha256").update(readFileSync(path)).digest("hex")}`;

test("the same files make the same layer, whenever and wherever they were written", async () => {
  const first = await writeLayer(await listFolder(makeFolder("one"), "app"), join(scratch, "layers"));
  const other = makeFolder("two");
  utimesSync(join(other, "program"), 1, 1);
  const second = await writeLayer(await listFolder(other, "app"), join(scratch, "layers-2"));
  expect(second.digest).toBe(first.digest);
  expect(digestOf(first.path)).toBe(first.digest);
});

test("a layer holds every file as it was, under its folder, owned by root", async () => {
  const { path } = await writeLayer(await listFolder(makeFolder("files"), "app"), join(scratch, "layers"));
  const unpacked = join(scratch, "unpacked");
  mkdirSync(unpacked);
  execFileSync("tar", ["-xf", path, "-C", unpacked]);
  expect(readFileSync(join(unpacked, "app", LONG), "utf8")).toBe("far down");
  expect(readFileSync(join(unpacked, "app/empty"), "utf8")).toBe("");
  const listed = execFileSync("tar", ["--numeric-owner", "-tvf", path], { encoding: "utf8" }).trim().split("\n");
  expect(listed.every((line) => / 0\/0 /.test(line))).toBe(true);
  expect(listed.find((line) => line.endsWith("app/program"))).toMatch(/^-rwxr-xr-x/);
  expect(listed.find((line) => line.includes("app/link"))).toMatch(/^l.*app\/link -> program$/);
});

test("an image leads by its digests from the index to every layer, and says what its programs run as", async () => {
  const layers = [
    await writeLayer([{ kind: "text", path: "etc/a", mode: 0o644, text: "low" }], scratch),
    await writeLayer([{ kind: "text", path: "etc/a", mode: 0o644, text: "high" }], scratch),
  ];
  const image = await writeImage("penstock.local/test:1", layers, CONFIG, join(scratch, "image.tar"));
  const unpacked = join(scratch, "image");
  mkdirSync(unpacked);
  execFileSync("tar", ["-xf", image.path, "-C", unpacked]);
  const blob = (digest: string): string => {
    const path = join(unpacked, "blobs", digest.replace(":", "/"));
    expect(digestOf(path)).toBe(digest);
    return path;
  };
  const parsed = (path: string) => JSON.parse(readFileSync(path, "utf8"));
  const [entry] = parsed(join(unpacked, "index.json")).manifests;
  expect(entry).toMatchObject({
    digest: image.digest,
    annotations: { "io.containerd.image.name": "penstock.local/test:1" },
  });
  const manifest = parsed(blob(entry.digest));
  const config = parsed(blob(manifest.config.digest));
  expect(config).toMatchObject({
    os: "linux",
    config: { User: "65532:65532", Entrypoint: ["/bin/program"], Env: ["PATH=/bin"] },
  });
  // Lowest first: what lies above covers what lies below.
  expect(config.rootfs.diff_ids).toEqual(layers.map((layer) => layer.digest));
  for (const layer of manifest.layers) expect(readFileSync(blob(layer.digest)).length).toBe(layer.size);
});

test("a file that is cut while it is packed ends the build with an error, and leaves no image", async () => {
  const folder = join(scratch, "changing");
  mkdirSync(folder);
  writeFileSync(join(folder, "model"), Buffer.alloc(1_000));
  const entries = await listFolder(folder, "app");
  truncateSync(join(folder, "model"), 10);
  await expect(writeLayer(entries, join(scratch, "layers"))).rejects.toThrow(/size mismatch/i);
  expect(readdirSync(join(scratch, "layers"))).toEqual([]);
});

test("layers that are written at once into one folder do not mix", async () => {
  const texts = ["a", "b", "c", "d"];
  const written = await Promise.all(
    texts.map((text) => writeLayer([{ kind: "text", path: "file", mode: 0o644, text }], scratch)),
  );
  for (const layer of written) expect(digestOf(layer.path)).toBe(layer.digest);
});

test.each(["../outside", "/etc/passwd", "deeper/../../outside"])(
  "a link to %s, out of its folder, is an error",
  async (target) => {
    const folder = makeFolder("linked");
    symlinkSync(target, join(folder, "away"));
    await expect(listFolder(folder, "app")).rejects.toThrow("leads out of");
  },
);

test("a link to a neighbour's folder within stays a link", async () => {
  const folder = makeFolder("within");
  mkdirSync(join(folder, "deep"));
  symlinkSync("../program", join(folder, "deep/up"));
  expect(await listFolder(folder, "app")).toContainEqual({ kind: "link", path: "app/deep/up", target: "../program" });
});

test("a folder keeps its own mode: everybody may write to /tmp, and nobody takes away another's file", async () => {
  const { path } = await writeLayer([{ kind: "folder", path: "tmp", mode: 0o1777 }], scratch);
  expect(execFileSync("tar", ["-tvf", path], { encoding: "utf8" })).toMatch(/^drwxrwxrwt /);
});
