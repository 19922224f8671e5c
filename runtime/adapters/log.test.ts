import { expect, test } from "vitest";
import { createLog } from "./log.ts";

function written(human: boolean): { lines: string[]; log: ReturnType<typeof createLog> } {
  const lines: string[] = [];
  return { lines, log: createLog({ level: "info", human, write: (line) => lines.push(line) }) };
}

test("a program gets one flat JSON object a line, bound fields with it", () => {
  const { log, lines } = written(false);
  log.with({ replica: "iris-1" }).warn("REPLICA_EXITED", { code: 1 });
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    level: "warn",
    time: expect.any(Number),
    replica: "iris-1",
    code: 1,
    msg: "REPLICA_EXITED",
  });
});

test("a person gets one short line, with values quoted where they need it", () => {
  const { log, lines } = written(true);
  log.error("FETCH_FAILED", { why: "no route to host", tries: 3 });
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} ERROR FETCH_FAILED why="no route to host" tries=3\n$/);
});

test("what a model wrote can't command a person's terminal, and is whole in the line for programs", () => {
  const why = "\u001b]0;gone\u0007\u001b[2Jover";
  const [person, program] = [written(true), written(false)];
  person.log.warn("PROCESS_ENDED", { why });
  expect(person.lines[0]).toMatch(/^\P{Cc}+\n$/u);
  program.log.warn("PROCESS_ENDED", { why });
  expect(JSON.parse(program.lines[0] ?? "").why).toBe(why);
});

test("lines under the level are not written", () => {
  const { log, lines } = written(true);
  log.debug("QUIET");
  expect(lines).toEqual([]);
});

test("a change of level holds at once, also for logs made from it before", () => {
  const { log, lines } = written(true);
  const child = log.with({ replica: "iris-1" });
  child.setLevel("debug");
  log.debug("NOW");
  child.debug("NOW");
  log.setLevel("error");
  child.warn("QUIET");
  expect(lines.map((line) => line.slice(13).trim())).toEqual(["DEBUG NOW", "DEBUG NOW replica=iris-1"]);
});

test("a person reads of a process that died in a sentence", () => {
  const { log, lines } = written(true);
  const died = { process: "iris-1", epoch: 9, signal: null, failedStarts: 3, why: "Error: no such layer" };
  log.warn("PROCESS_DIED", { ...died, code: 1 });
  log.warn("PROCESS_DIED", { ...died, code: null, signal: "SIGKILL", failedStarts: 0, why: "" });
  expect(lines.map((line) => line.slice("12:00:00.000 ".length))).toEqual([
    "WARN  PROCESS_DIED iris-1 ended with exit code 1 before it was ready, 3 starts in a row: Error: no such layer\n",
    "WARN  PROCESS_DIED iris-1 ended by SIGKILL\n",
  ]);
});
