import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkBannedCalls, checkDocstrings, checkSizes, checkText, exportsOf } from "./tidy/code.ts";
import { checkCycles, checkDeadExports, checkRooms } from "./tidy/imports.ts";
import { formatFinding, parseSource, readSources } from "./tidy/source.ts";

const ROOT = join(import.meta.dirname, "..");
const sources = readSources(ROOT, ["runtime", "cli", "test", "examples"]);

describe("the tree", () => {
  test("each file imports only what its room may", () => {
    expect(checkRooms(sources).map(formatFinding)).toEqual([]);
  });
  test("no import cycles", () => {
    expect(checkCycles(sources).map(formatFinding)).toEqual([]);
  });
  test("no export that nobody imports", () => {
    expect(checkDeadExports(sources, exportsOf).map(formatFinding)).toEqual([]);
  });
  test("files and functions stay small", () => {
    expect(checkSizes(sources).map(formatFinding)).toEqual([]);
  });
  test("clocks, randomness, environment and console stay at the edge", () => {
    expect(checkBannedCalls(sources).map(formatFinding)).toEqual([]);
  });
  test("exported names say what they are", () => {
    expect(checkDocstrings(sources).map(formatFinding)).toEqual([]);
  });
  test("no leftovers, registry hosts or paths of one machine in any tracked file", () => {
    const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: ROOT, encoding: "utf8" })
      .trim()
      .split("\n");
    const files = tracked
      .filter(
        (path) =>
          /\.(ts|tsx|mjs|js|py|md|json|yaml|yml|css|html|sh)$|^\.ci\//.test(path) && path !== "package-lock.json",
      )
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
    expect(checkText(files).map(formatFinding)).toEqual([]);
  });
});

describe("the rules see a planted fault", () => {
  const rules = (path: string, text: string): string[] => {
    const source = parseSource(path, text);
    return [
      ...checkRooms([source]),
      ...checkSizes([source]),
      ...checkBannedCalls([source]),
      ...checkDocstrings([source]),
    ].map((finding) => finding.rule);
  };
  test("a decision that imports an adapter", () => {
    expect(rules("runtime/control/fleet/decide.ts", 'import { x } from "../../adapters/clock.ts";\nx();')).toEqual([
      "rooms",
    ]);
  });
  test("a controller that imports another controller", () => {
    expect(rules("runtime/control/fleet/decide.ts", 'import { x } from "../rollout/decide.ts";\nx();')).toEqual([
      "rooms",
    ]);
  });
  test("a clock, a timer and the environment inside a pure room", () => {
    const text =
      "const a = Date.now();\nsetTimeout(() => a, 1);\nconst b = process.env.HOME;\nconst c = new Date();\nconsole.log(b, c);";
    expect(rules("runtime/core/x.ts", text)).toEqual(Array(5).fill("banned-call"));
  });
  test("a function of 81 lines", () => {
    expect(rules("runtime/core/x.ts", `function long() {\n${"  1;\n".repeat(79)}}\nlong();`)).toEqual([
      "function-size",
    ]);
  });
  test("an export without a docstring that nobody imports", () => {
    const source = parseSource("runtime/core/x.ts", "export const lonely = 1;");
    expect(rules(source.path, source.text)).toEqual(["docstring"]);
    expect(checkDeadExports([source], exportsOf)).toHaveLength(1);
  });
  test("a cycle of two files", () => {
    const a = parseSource("runtime/core/a.ts", 'import { b } from "./b.ts";\nb();');
    const b = parseSource("runtime/core/b.ts", 'import { a } from "./a.ts";\na();');
    expect(checkCycles([a, b])).toHaveLength(1);
  });
  test("a path of one machine", () => {
    expect(checkText([{ path: "x.md", text: `see ${["/ro", "ot/x"].join("")}` }])).toHaveLength(1);
  });
});
