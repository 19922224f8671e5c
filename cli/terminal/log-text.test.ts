import { expect, test } from "vitest";
import { logText } from "./log-text.ts";
import { styleFor } from "./style.ts";

const plain = styleFor(false);

test("the region's own lines are read for a person, and a model's own lines stay as they are", () => {
  const own = '{"level":"error","time":1,"replica":"m-a-1","why":"the engine ended by itself","msg":"REPLICA_FAILED"}';
  expect(logText(own, plain)).toBe("REPLICA_FAILED replica=m-a-1 why=the engine ended by itself");
  expect(logText('{"loss": 0.1}', plain)).toBe('{"loss": 0.1}');
});

test("troubles are coloured where colour is on, and control characters reach no terminal", () => {
  const colour = styleFor(true);
  expect(logText("Traceback (most recent call last):", colour)).toBe(colour.bad("Traceback (most recent call last):"));
  expect(logText("a\u001b[2Jb", plain)).toBe("a [2Jb");
});
