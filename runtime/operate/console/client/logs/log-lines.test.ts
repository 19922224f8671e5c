import { expect, test } from "vitest";
import { readLine } from "../../../logs/read-line.ts";
import { addLines, matchingLines } from "./log-lines.ts";

const line = (text: string) => ({ source: "router", atMs: 0 as never, line: text });

test("lines are numbered on, and the oldest fall out at 2,000", () => {
  const many = Array.from({ length: 2_000 }, (_, index) => line(`line ${index}`));
  const held = addLines(addLines([], many), [line("newest")]);
  expect(held).toHaveLength(2_000);
  expect([held[0]?.number, held.at(-1)?.number]).toEqual([2, 2_001]);
});

test("lines are found whatever their case", () => {
  const held = addLines([], [line("REPLICA_READY"), line("other")]);
  expect(matchingLines(held, "ready").map(({ line: text }) => text)).toEqual(["REPLICA_READY"]);
  expect(matchingLines(held, "")).toBe(held);
});

test("a structured line shows its code, then the fields that the row does not tell already", () => {
  expect(readLine('{"level":"info","time":1,"replica":"iris-a-0","startupMs":622,"msg":"REPLICA_READY"}')).toEqual({
    level: "plain",
    code: "REPLICA_READY",
    text: "replica=iris-a-0 startupMs=622",
  });
});

test("JSON of another kind and broken JSON stay as they are", () => {
  for (const text of ['{"answer":1}', '{"level":"error","msg":', "[1]"]) {
    expect(readLine(text)).toEqual({ level: "plain", code: null, text });
  }
});

test("loudness is read from the level, or from the first word", () => {
  expect(readLine('{"level":"error","msg":"X"}').level).toBe("error");
  expect(readLine('{"level":"warn","msg":"X"}').level).toBe("warn");
  expect(readLine("Traceback (most recent call last):").level).toBe("error");
  expect(readLine("WARNING: slow").level).toBe("warn");
  expect(readLine("no error at all").level).toBe("plain");
});
