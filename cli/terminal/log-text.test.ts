import { expect, test } from "vitest";
import { lastLines, logText } from "./log-text.ts";
import { styleFor } from "./style.ts";

const plain = styleFor(false);

test("the region's own lines are read for a person, and a model's own lines stay as they are", () => {
  const own = '{"level":"error","time":1,"replica":"m-a-1","why":"the engine ended by itself","msg":"REPLICA_FAILED"}';
  expect(logText(own, plain)).toBe("REPLICA_FAILED m-a-1 failed: the engine ended by itself");
  expect(logText('{"loss": 0.1}', plain)).toBe('{"loss": 0.1}');
});

test("troubles are coloured where colour is on, and control characters reach no terminal", () => {
  const colour = styleFor(true);
  expect(logText("Traceback (most recent call last):", colour)).toBe(colour.bad("Traceback (most recent call last):"));
  expect(logText("a\u001b[2Jb", plain)).toBe("a [2Jb");
});

test("the last lines of a crash loop stand there once, with how often they came", () => {
  const start = (port: number) => [`listening at ${port}`, "Error: no such layer"];
  expect(lastLines([1, 2, 3].flatMap(start), plain)).toEqual([
    "  | listening at 3",
    "  | Error: no such layer",
    "  | (these 2 lines, at least 3 times)",
  ]);
});
