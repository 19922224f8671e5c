import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CharacterStream, StopFilter } from "./text-stream.ts";

/** A tokenizer whose tokens are single bytes: the worst case for characters of several bytes. */
const byteTokens = (tokens: readonly number[]): string => Buffer.from(tokens).toString("utf8");

describe("characters", () => {
  test("property: the pieces make the text, and no piece ends in half a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        fc.pre(!text.includes("\uFFFD"));
        const stream = new CharacterStream<number>(byteTokens);
        const pieces = [...Buffer.from(text, "utf8")].map((byte) => stream.push(byte));
        expect(pieces.join("") + stream.flush()).toBe(text);
        expect(pieces.some((piece) => piece.includes("\uFFFD"))).toBe(false);
      }),
    );
  });

  test("bytes that are no character are let through after four tokens", () => {
    const stream = new CharacterStream<number>(byteTokens);
    expect([0xff, 0xff, 0xff, 0xff].map((byte) => stream.push(byte)).join("")).toContain("\uFFFD");
  });
});

describe("stop texts", () => {
  test("property: the text before the first stop comes through, whatever the pieces", () => {
    const letters = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 30 });
    const stops = fc.uniqueArray(fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 3 }), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(letters, stops, (pieces, stopTexts) => {
        const filter = new StopFilter(stopTexts);
        let sent = "";
        let stopped = false;
        for (const piece of pieces) {
          if (stopped) break;
          const out = filter.push(piece);
          sent += out.text;
          stopped = out.stopped;
        }
        if (!stopped) sent += filter.flush();
        // The slow way: the text up to the earliest end of any stop text, that stop text cut off.
        const text = pieces.join("");
        const ends = stopTexts
          .filter((stop) => text.includes(stop))
          .map((stop) => ({ start: text.indexOf(stop), end: text.indexOf(stop) + stop.length }));
        const firstEnd = Math.min(...ends.map(({ end }) => end));
        const starts = ends.filter(({ end }) => end === firstEnd).map(({ start }) => start);
        expect(sent).toBe(ends.length === 0 ? text : text.slice(0, Math.min(...starts)));
        expect(stopped).toBe(ends.length > 0);
      }),
    );
  });
});
