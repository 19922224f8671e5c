import { expect, test } from "vitest";
import { forTerminal, printable } from "./terminal-text.ts";

test.each([
  ["clears the screen", "a\u001b[2Jb", "a [2Jb"],
  ["sets the window's title", "a\u001b]0;title\u0007b", "a ]0;title b"],
  ["does so by an 8-bit control (C1)", "a\u009b2Jb", "a 2Jb"],
  ["overwrites what stands there", "a\rb\bc\u007f", "a b c "],
  ["hides what follows, in a style that is not ours", "a\u001b[8mb", "a [8mb"],
  ["turns the direction around", "a\u202eb\u2066c", "a b c"],
])("text that %s is shown as characters", (_, text, shown) => {
  expect(forTerminal(text)).toBe(shown);
  expect(printable(text)).toBe(shown);
});

test("our own colours, tabs and line ends reach the terminal, and none of them a cell of a table", () => {
  const lines = "\u001b[32mready\u001b[0m\ta\nb";
  expect(forTerminal(lines)).toBe(lines);
  expect(printable(lines)).toBe(" [32mready [0m a b");
});

test("text in any script stays as it is", () => {
  const text = "naïve 模型 שלום 🙂 e\u0301";
  expect([forTerminal(text), printable(text)]).toEqual([text, text]);
});
