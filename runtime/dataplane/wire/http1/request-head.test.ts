import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS } from "./limits.ts";
import { referenceRequest } from "./reference.ts";
import { parseRequestHead } from "./request-head.ts";

const parse = (text: string, limits = DEFAULT_LIMITS) => {
  const bytes = Buffer.from(text, "latin1");
  return parseRequestHead(bytes, 0, bytes.length, limits);
};
const headOf = (text: string) => {
  const result = parse(text);
  if (result?.kind !== "head") throw new Error(`no head: ${JSON.stringify(result)}`);
  return result.head;
};
const whyOf = (text: string) => {
  const result = parse(text);
  return result?.kind === "malformed" ? result.why : (result?.kind ?? "more");
};

test("reads what the router needs and keeps the other headers as they were written", () => {
  const head = headOf(
    "POST /v1/completions?x=1 HTTP/1.1\r\nHost: h:80\r\nX-Mixed-Case:  a b \r\nContent-Length: 12\r\nAuthorization: Bearer k\r\nAccept: */*\r\n\r\n",
  );
  expect(head).toMatchObject({
    method: "POST",
    target: "/v1/completions?x=1",
    minorVersion: 1,
    framing: { kind: "length", bytes: 12 },
    keepAlive: true,
    host: "h:80",
    authorization: "Bearer k",
    passedHeaders: "X-Mixed-Case:  a b \r\nAccept: */*\r\n",
  });
});

test.each([
  ["two lengths", "Content-Length: 3\r\nContent-Length: 3\r\n", "bad-content-length"],
  ["a list of lengths", "Content-Length: 3, 3\r\n", "bad-content-length"],
  ["a signed length", "Content-Length: +3\r\n", "bad-content-length"],
  ["a hex length", "Content-Length: 0x3\r\n", "bad-content-length"],
  ["an empty length", "Content-Length: \r\n", "bad-content-length"],
  ["a length past 15 digits", "Content-Length: 1234567890123456\r\n", "bad-content-length"],
  ["length and chunked", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "content-length-and-transfer-encoding"],
  ["chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "bad-transfer-encoding"],
  ["gzip before chunked", "Transfer-Encoding: gzip, chunked\r\n", "unknown-transfer-coding"],
  ["chunked that is not last", "Transfer-Encoding: chunked, identity\r\n", "unknown-transfer-coding"],
  ["chunked spelled with a vertical tab", "Transfer-Encoding: \x0bchunked\r\n", "bad-header-value"],
  ["a blank before the colon", "Content-Length : 3\r\n", "bad-header-name"],
  ["no colon", "Nonsense\r\n", "bad-header-name"],
  ["an empty name", ": x\r\n", "bad-header-name"],
  ["a folded line", "A: b\r\n c\r\n", "obs-fold"],
  ["NUL in a value", "A: b\0c\r\n", "bad-header-value"],
  ["a bare CR in a value", "A: b\rc\r\n", "bad-header-value"],
  ["a bare LF", "A: b\nContent-Length: 3\r\n", "bare-lf"],
  ["a second Host", "Host: other\r\n", "bad-host"],
])("refuses %s", (_name, headers, why) => {
  expect(whyOf(`POST / HTTP/1.1\r\nHost: h\r\n${headers}\r\n`)).toBe(why);
});

test.each([
  ["no Host", "GET / HTTP/1.1\r\n\r\n", "missing-host"],
  ["user info in Host", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "bad-host"],
  ["a blank in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", "bad-start-line"],
  ["a fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", "bad-start-line"],
  ["two blanks", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "bad-start-line"],
  ["a tab as separator", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", "bad-start-line"],
  ["lower-case http", "GET / http/1.1\r\nHost: h\r\n\r\n", "bad-start-line"],
  ["HTTP/2", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", "unsupported-version"],
  ["HTTP/0.9", "GET /\r\n\r\n", "bad-start-line"],
  ["no method", " / HTTP/1.1\r\nHost: h\r\n\r\n", "bad-start-line"],
  ["an asterisk with GET", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", "bad-start-line"],
  ["a relative target", "GET a/b HTTP/1.1\r\nHost: h\r\n\r\n", "bad-start-line"],
  ["chunked with HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "bad-transfer-encoding"],
  ["bare LF only", "GET / HTTP/1.1\nHost: h\n\n", "bare-lf"],
])("refuses %s", (_name, text, why) => {
  expect(whyOf(text)).toBe(why);
});

describe("limits", () => {
  const limits = { ...DEFAULT_LIMITS, headBytes: 200, headerCount: 3, targetBytes: 20 };
  const why = (text: string) => {
    const result = parse(text, limits);
    return result?.kind === "malformed" ? result.why : result?.kind;
  };
  test("a head over its bytes is refused before its end is seen", () => {
    expect(why(`GET / HTTP/1.1\r\nA: ${"x".repeat(200)}`)).toBe("head-too-large");
  });
  test("too many headers", () => {
    expect(why("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n")).toBe("too-many-headers");
  });
  test("too long a target", () => {
    expect(why("GET /aaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: h\r\n\r\n")).toBe("target-too-long");
  });
});

test("absolute-form gives the path, whatever the case of the scheme", () => {
  expect(headOf("GET HTTP://other:81/p?q HTTP/1.1\r\nHost: h\r\n\r\n").target).toBe("/p?q");
  expect(headOf("GET http://other HTTP/1.1\r\nHost: h\r\n\r\n").target).toBe("/");
});

test("headers that Connection names are not handed on, but for those the router lives by", () => {
  const head = headOf(
    "POST / HTTP/1.1\r\nHost: h\r\nConnection: X-Hop, Content-Length, close\r\nX-Hop: 1\r\nKept: 2\r\nContent-Length: 5\r\n\r\n",
  );
  expect(head.passedHeaders).toBe("Kept: 2\r\n");
  expect(head.framing).toEqual({ kind: "length", bytes: 5 });
  expect(head.keepAlive).toBe(false);
});

test("close wins over keep-alive, and HTTP/1.0 closes unless asked", () => {
  expect(headOf("GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, close\r\n\r\n").keepAlive).toBe(false);
  expect(headOf("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n").keepAlive).toBe(
    false,
  );
  expect(headOf("GET / HTTP/1.0\r\n\r\n").keepAlive).toBe(false);
  expect(headOf("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keepAlive).toBe(true);
});

const header = fc.oneof(
  fc.constantFrom(
    "Host: h",
    "Content-Length: 5",
    "Content-Length: 0",
    "Transfer-Encoding: chunked",
    "Connection: close",
    "Expect: 100-continue",
    "X-A: b",
    "X-A : b",
    " folded",
    "A: \x80\xff",
    "B: \x00",
    "C: a\nb",
    "D:",
  ),
  fc.string({ maxLength: 12, unit: "binary-ascii" }),
);
const startLine = fc.constantFrom(
  "GET / HTTP/1.1",
  "POST /a?b HTTP/1.1",
  "GET http://x/y HTTP/1.0",
  "GET / HTTP/1.2",
  "G@T / HTTP/1.1",
  "\r\nGET / HTTP/1.1",
);
const message = fc
  .tuple(startLine, fc.array(header, { maxLength: 6 }), fc.constantFrom("\r\n", "\r\n", "\r\n", "\n"))
  .map(([start, headers, eol]) => `${[start, ...headers].join(eol)}${eol}${eol}body`);

test("agrees with a slow reference that reads line by line", () => {
  fc.assert(
    fc.property(message, (text) => {
      const result = parse(text);
      const expected = referenceRequest(text);
      if (result?.kind !== "head") {
        expect(expected).toBe("refused");
        return;
      }
      expect(expected).toEqual({
        method: result.head.method,
        framing: result.head.framing,
        keepAlive: result.head.keepAlive,
        rest: text.slice(result.endOffset),
      });
    }),
    { numRuns: 3_000 },
  );
});

test("any split of the bytes gives the same result", () => {
  fc.assert(
    fc.property(message, fc.array(fc.nat(200), { maxLength: 8 }), (text, cuts) => {
      const bytes = Buffer.from(text, "latin1");
      const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length].toSorted((a, b) => a - b);
      const whole = parseRequestHead(bytes, 0, bytes.length, DEFAULT_LIMITS);
      let split: ReturnType<typeof parseRequestHead> = null;
      for (const end of ends) {
        // What stands behind the end is there too, as in a buffer that was read into before: it must not be seen.
        split = parseRequestHead(bytes, 0, end, DEFAULT_LIMITS);
        if (split !== null) break;
      }
      expect(split).toEqual(whole);
    }),
    { numRuns: 2_000 },
  );
});
