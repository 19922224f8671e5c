import fc from "fast-check";
import { expect, test } from "vitest";
import { ChunkedDecoder } from "./chunked.ts";
import { DEFAULT_LIMITS } from "./limits.ts";

function decode(pieces: readonly string[], limits = DEFAULT_LIMITS): { result: string; data: string; rest: string } {
  const decoder = new ChunkedDecoder(limits);
  let data = "";
  let result = "more";
  let rest = "";
  for (const piece of pieces) {
    const bytes = Buffer.from(piece, "latin1");
    if (result !== "more") {
      rest += piece;
      continue;
    }
    result = decoder.push(bytes, 0, bytes.length, (from, start, end) => {
      data += from.toString("latin1", start, end);
    });
    if (result === "done") rest = piece.slice(decoder.endOffset);
  }
  return { result, data, rest };
}

test("joins the chunks, drops extensions and trailers, and stops at the end", () => {
  expect(decode(["5;a=b\r\nhello\r\n06\r\n world\r\n0\r\nT: x\r\n\r\nGET"])).toEqual({
    result: "done",
    data: "hello world",
    rest: "GET",
  });
});

test.each([
  ["no size", "\r\n"],
  ["a sign", "+5\r\nhello\r\n"],
  ["a prefix", "0x5\r\nhello\r\n"],
  ["a blank before the size", " 5\r\nhello\r\n"],
  ["a blank after the size", "5 \r\nhello\r\n"],
  ["a bare LF after the size", "5\nhello\r\n"],
  ["a bare LF after the data", "5\r\nhello\n"],
  ["more data than the size", "4\r\nhello\r\n"],
  ["14 digits", "00000000000001\r\na\r\n"],
  ["a control character in an extension", "5;\x01\r\nhello\r\n"],
  ["a bare CR in a trailer", "0\r\nA: b\rc\r\n\r\n"],
])("refuses %s", (_name, text) => {
  expect(decode([text]).result).toBe("malformed");
});

test("bounds extensions and trailers", () => {
  expect(decode([`5;${"x".repeat(300)}\r\nhello\r\n`]).result).toBe("malformed");
  expect(decode([`0\r\n${"a: b\r\n".repeat(1_000)}\r\n`]).result).toBe("malformed");
});

test("any split of the bytes gives the same body", () => {
  const chunks = fc.array(fc.string({ minLength: 1, maxLength: 40 }), { maxLength: 6 });
  fc.assert(
    fc.property(chunks, fc.array(fc.nat(250), { maxLength: 10 }), fc.string({ maxLength: 5 }), (parts, cuts, after) => {
      const ascii = parts.map((part) => Buffer.from(part, "utf8").toString("latin1"));
      const text = `${ascii.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join("")}0\r\n\r\n`;
      const tail = Buffer.from(after, "utf8").toString("latin1");
      const whole = text + tail;
      const ends = [...cuts.filter((cut) => cut < whole.length), whole.length].toSorted((a, b) => a - b);
      const pieces = ends.map((end, index) => whole.slice(index === 0 ? 0 : ends[index - 1], end));
      expect(decode(pieces)).toEqual({ result: "done", data: ascii.join(""), rest: tail });
    }),
    { numRuns: 1_000 },
  );
});
