import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { UserError } from "../core/errors.ts";
import { parseRegionFile, readRegionFile } from "./region-settings.ts";

const errorOf = (work: () => unknown): UserError => {
  try {
    work();
  } catch (error) {
    return error as UserError;
  }
  throw new Error("no error");
};

test("an empty file is a region with every default", () => {
  expect(parseRegionFile("", "r.yaml")).toMatchObject({
    region: "local",
    host: "127.0.0.1",
    port: 8080,
    endpoints: [],
  });
});

test("every mistake is told at once, from the top, with its line, its endpoint's name, the rule and what stands there", () => {
  const text = `region: Local!
port: 99999
colour: blue
endpoints:
  - name: iris
    model: ./iris.onnx
    concurency: { min: 1 }
    run:
      cpuCounts: 2
  - name: ok
    model: ./ok.onnx
    concurrency: { min: 9, max: 3 }
  - model: ./nameless.onnx
`;
  const error = errorOf(() => parseRegionFile(text, "r.yaml"));
  expect(error.code).toBe("PENSTOCK_REGION_FILE_INVALID");
  const [head, ...mistakes] = error.message.split("\n");
  expect(head).toBe("r.yaml has 7 mistakes:");
  const starts = [
    `  - line 1, region: must be lower-case letters, digits and '-', and is "Local!"`,
    "  - line 2, port: must be at most 65535, and is 99999",
    "  - line 3, colour: there is no such setting. Allowed here: region, host, port,",
    "  - line 7, endpoints.iris.concurency: there is no such setting; did you mean concurrency? Allowed here: name, model,",
    "  - line 9, endpoints.iris.run.cpuCounts: there is no such setting; did you mean cpuCount? Allowed here: cpuCount,",
    "  - line 12, endpoints.ok.concurrency.min: min must not be above max",
    "  - line 13, endpoints[2].name: is missing; it must be text",
  ];
  expect(mistakes.map((mistake, index) => mistake.slice(0, starts[index]?.length))).toEqual(starts);
});

test("a mistake of YAML itself is told with its line", () => {
  expect(errorOf(() => parseRegionFile("port: [1", "r.yaml")).message).toContain("line 1");
});

test.each([
  ["lists in lists without end", `endpoints: ${"[".repeat(20_000)}${"]".repeat(20_000)}`, "nested too deep"],
  ["aliases that multiply", `a0: &a0 [1]\n${[1, 2, 3, 4].map(multiplied).join("")}`, "alias"],
])("%s are a mistake of the file, not a bug", (_, text, words) => {
  const { code, message } = errorOf(() => parseRegionFile(text, "r.yaml"));
  expect([code, message]).toEqual(["PENSTOCK_REGION_FILE_INVALID", expect.stringContaining(words)]);
});

/** A list of ten times the list before. */
function multiplied(step: number): string {
  return `a${step}: &a${step} [${Array(10)
    .fill(`*a${step - 1}`)
    .join(", ")}]\n`;
}

test("of very many mistakes the first ones are told, and how many more there are", () => {
  const text = JSON.stringify({
    endpoints: Array.from({ length: 2_000 }, (_, index) => ({ name: `Bad${index}`, model: "./a.onnx" })),
  });
  const [head, ...lines] = errorOf(() => parseRegionFile(text, "r.yaml")).message.split("\n");
  expect([head, lines.length, lines.at(-1)]).toEqual(["r.yaml has 2000 mistakes:", 51, "  - and 1950 more"]);
});

test("a file that is not there is said so", () => {
  expect(errorOf(() => readRegionFile("/nonexistent/r.yaml")).code).toBe("PENSTOCK_REGION_FILE_UNREADABLE");
});

test("model paths are relative to the file's folder; URLs and package references stay", () => {
  const folder = mkdtempSync(join(tmpdir(), "penstock-region-"));
  const file = join(folder, "r.yaml");
  const models = ["./a.onnx", "/abs/b.gguf", "https://host/c.onnx", "pypi:p==1#m/d.gguf"];
  writeFileSync(file, JSON.stringify({ endpoints: models.map((model, index) => ({ name: `m${index}`, model })) }));
  const read = readRegionFile(file).endpoints.map((endpoint) => endpoint.model);
  expect(read).toEqual([join(folder, "a.onnx"), ...models.slice(1)]);
  rmSync(folder, { recursive: true });
});
