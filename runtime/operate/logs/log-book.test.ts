import { expect, test } from "vitest";
import { asWallMs } from "../../core/time.ts";
import { LogBook } from "./log-book.ts";

const at = asWallMs(1);
const all = () => true;

test("the tail holds the newest lines, oldest first, whatever was overwritten", () => {
  const book = new LogBook(3);
  book.add("a", ["1", "2", "3", "4"], at);
  // Three lines are kept, so that "1" is gone.
  expect(book.tail(all, 10).map((line) => line.line)).toEqual(["2", "3", "4"]);
  expect(book.tail(all, 2).map((line) => line.line)).toEqual(["3", "4"]);
});

test("the tail of one source leaves the others out", () => {
  const book = new LogBook();
  book.add("a", ["1"], at);
  book.add("b", ["2"], at);
  book.add("a", ["3"], at);
  expect(book.tail((source) => source === "a", 10).map((line) => line.line)).toEqual(["1", "3"]);
});

test("a follower gets each later line until it ends", () => {
  const book = new LogBook();
  const seen: string[] = [];
  book.add("a", ["before"], at);
  const end = book.follow((line) => seen.push(line.line));
  book.add("a", ["during"], at);
  end();
  book.add("a", ["after"], at);
  expect(seen).toEqual(["during"]);
});

test("a line longer than 4,096 characters is cut", () => {
  const book = new LogBook();
  book.add("a", ["x".repeat(5_000)], at);
  expect(book.tail(all, 1)[0]?.line.length).toBe(4_096);
});
