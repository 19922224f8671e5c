import { expect, test } from "vitest";
import { rowAfter, SHORTCUT_HELP, shortcutOf } from "./shortcut.ts";

const pressed = (key: string, held: object = {}) => ({ key, altKey: false, ctrlKey: false, metaKey: false, ...held });

test("while somebody types only Escape is a shortcut", () => {
  expect(shortcutOf(pressed("j"), true)).toBeNull();
  expect(shortcutOf(pressed("/"), true)).toBeNull();
  expect(shortcutOf(pressed("Escape"), true)).toBe("back");
});

test("the browser's own combinations are left alone", () => {
  expect(shortcutOf(pressed("t", { ctrlKey: true }), false)).toBeNull();
  expect(shortcutOf(pressed("1", { altKey: true }), false)).toBeNull();
  expect(shortcutOf(pressed("t"), false)).toBe("theme");
});

test("a key that only an object's prototype knows is no shortcut", () => {
  expect(shortcutOf(pressed("constructor"), false)).toBeNull();
});

test("every key of the help but Enter, which the browser serves, is a shortcut", () => {
  const named: Record<string, string> = { "↓": "ArrowDown", "↑": "ArrowUp", Esc: "Escape" };
  const keys = SHORTCUT_HELP.flatMap(({ keys }) => keys).filter((key) => key !== "Enter");
  expect(keys.filter((key) => shortcutOf(pressed(named[key] ?? key), false) === null)).toEqual([]);
});

test("rows are walked from either end and no further", () => {
  expect(rowAfter(-1, 3, "next")).toBe(0);
  expect(rowAfter(-1, 3, "previous")).toBe(2);
  expect(rowAfter(2, 3, "next")).toBe(2);
  expect(rowAfter(0, 3, "previous")).toBe(0);
  expect(rowAfter(-1, 0, "next")).toBe(-1);
});
