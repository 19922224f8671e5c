import { createHash } from "node:crypto";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import {
  closeAll,
  endpointOf,
  eventually,
  httpReplica,
  invocation,
  onClose,
  rawClient,
  rawReplica,
  snapshotOf,
  startTestRouter,
  versionOf,
} from "./fixture.ts";

afterEach(closeAll);

const echo = () =>
  httpReplica((incoming, answer) => {
    const pieces: Buffer[] = [];
    incoming.on("data", (piece: Buffer) => pieces.push(piece));
    incoming.on("end", () => {
      answer.setHeader("x-path", incoming.url ?? "");
      answer.setHeader("x-seen", JSON.stringify(incoming.headers));
      answer.end(Buffer.concat(pieces));
    });
  });

/** A replica that ends for good when the first request reaches it. */
const dyingReplica = () =>
  new Promise<number>((resolve) => {
    const server = createServer((socket) =>
      socket.once("data", () => {
        server.close();
        socket.destroy();
      }),
    );
    onClose(() => server.close());
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });

/** A port that nothing listens on. */
const deadPort = async () => {
  const port = await httpReplica(() => {});
  await closeAll();
  return port;
};

test("hands a request on and its answer back, with the version and a request id, and settles the lease", async () => {
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([await echo()])]));
  const client = rawClient(router.port, invocation('{"a":1}', "X-Mine: 1\r\nConnection: close\r\n"));
  const text = await client.closed;
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text).toContain("x-path: /invocations\r\n");
  expect(text).toContain("x-penstock-version: iris-1\r\n");
  expect(text).toMatch(/x-request-id: req-/);
  expect(text).toContain('"x-forwarded-for":"127.0.0.1"');
  expect(text).toContain('"x-mine":"1"');
  expect(text.endsWith('\r\n\r\n{"a":1}')).toBe(true);
  expect(router.load()).toMatchObject({ inFlight: 0, queued: 0, completed: 1 });
});

test("answers pipelined requests in their order, whatever order their replicas would have", async () => {
  const port = await httpReplica((incoming, answer) => {
    let body = "";
    incoming.on("data", (piece) => {
      body += piece;
    });
    // The first answer comes last: it must still be the first one sent.
    incoming.on("end", () => setTimeout(() => answer.end(`<${body}>`), body === "first" ? 30 : 0));
  });
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  const client = rawClient(
    router.port,
    invocation("first") + invocation("second") + invocation("third", "Connection: close\r\n"),
  );
  const text = await client.closed;
  expect(text.match(/<\w+>/g)).toEqual(["<first>", "<second>", "<third>"]);
});

test("answers HEAD without a body and HTTP/1.0 without chunks", async () => {
  const port = await httpReplica((_incoming, answer) => {
    answer.write("streamed ");
    answer.end("answer");
  });
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  const head = await rawClient(router.port, "HEAD /endpoints/iris/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    .closed;
  expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\n$/);
  const old = await rawClient(router.port, "GET /endpoints/iris/x HTTP/1.0\r\n\r\n").closed;
  expect(old).toContain("connection: close\r\n");
  expect(old).not.toContain("chunked");
  expect(old.endsWith("\r\n\r\nstreamed answer")).toBe(true);
});

test("takes a chunked upload and hands it on with its length", async () => {
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([await echo()])]));
  const client = rawClient(
    router.port,
    "POST /v2/models/iris/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
  );
  for (const piece of ["5\r\nhel", "lo\r\n6\r\n wor", "ld\r\n0\r\n\r\n"]) client.socket.write(piece);
  const text = await client.closed;
  expect(text).toContain('"content-length":"11"');
  expect(text.endsWith("\r\n\r\nhello world")).toBe(true);
});

test.each([
  ["with its length", true],
  ["in chunks", false],
])("streams a large upload %s through, unchanged", async (_how, withLength) => {
  const port = await httpReplica((incoming, answer) => {
    const hash = createHash("sha256");
    incoming.on("data", (piece: Buffer) => hash.update(piece));
    incoming.on("end", () => answer.end(hash.digest("hex")));
  });
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  const body = Buffer.alloc(8_000_000, "0123456789abcdefg");
  const headers = withLength ? { "content-length": body.length } : { "transfer-encoding": "chunked" };
  const answer = await new Promise<string>((resolve, reject) => {
    const outgoing = request(
      {
        host: "127.0.0.1",
        port: router.port,
        path: "/serving-endpoints/iris/invocations",
        method: "POST",
        headers,
        agent: false,
      },
      (incoming) => {
        let text = "";
        incoming.on("data", (piece) => {
          text += piece;
        });
        incoming.on("end", () => resolve(text));
      },
    );
    outgoing.on("error", reject);
    for (let at = 0; at < body.length; at += 1_000_000) outgoing.write(body.subarray(at, at + 1_000_000));
    outgoing.end();
  });
  expect(answer).toBe(createHash("sha256").update(body).digest("hex"));
  expect(router.load().inFlight).toBe(0);
});

test("tells a client that waits for it to go on, and refuses an oversized body before it is sent", async () => {
  const router = await startTestRouter(snapshotOf([endpointOf({ maxBodyBytes: 100 })], [versionOf([await echo()])]));
  const head = (bytes: number) =>
    `POST /serving-endpoints/iris/invocations HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ${bytes}\r\nConnection: close\r\n\r\n`;
  const good = rawClient(router.port, head(5));
  await good.until((text) => text === "HTTP/1.1 100 Continue\r\n\r\n");
  good.socket.write("hello");
  expect((await good.closed).endsWith("hello")).toBe(true);
  const bad = await rawClient(router.port, head(101)).closed;
  expect(bad).toMatch(/^HTTP\/1\.1 413 /);
  expect(JSON.parse(bad.split("\r\n\r\n")[1]!)).toMatchObject({ message: expect.stringContaining("100 bytes") });
});

test("cuts an upload off once its chunks are over the limit", async () => {
  const router = await startTestRouter(snapshotOf([endpointOf({ maxBodyBytes: 100 })], [versionOf([await echo()])]));
  const client = rawClient(
    router.port,
    `POST /serving-endpoints/iris/invocations HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nc8\r\n${"x".repeat(200)}\r\n`,
  );
  expect(await client.closed).toMatch(/^HTTP\/1\.1 413 /);
});

test("gives up a client that sends its head or its body too slowly", async () => {
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([await echo()])]), {
    headMs: 60,
    bodyIdleMs: 60,
  });
  const slowHead = rawClient(router.port, "GET / HTTP/1.1\r\nHos");
  expect(await slowHead.closed).toMatch(/^HTTP\/1\.1 408 /);
  const slowBody = rawClient(router.port, invocation("0123456789").slice(0, -5));
  expect(await slowBody.closed).toMatch(/^HTTP\/1\.1 408 /);
  expect(router.load().inFlight).toBe(0);
});

test("a client that leaves in the middle of a stream ends the replica's work and the lease", async () => {
  let upstreamClosed = false;
  const port = await httpReplica((_incoming, answer) => {
    answer.writeHead(200, { "content-type": "text/event-stream" });
    answer.write("data: 1\n\n");
    answer.on("close", () => {
      upstreamClosed = true;
    });
  });
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  const client = rawClient(router.port, invocation("{}"));
  await client.until((text) => text.includes("data: 1"));
  expect(router.load().inFlight).toBe(1);
  client.socket.destroy();
  await eventually(() => upstreamClosed && router.load().inFlight === 0);
  expect(router.load()).toMatchObject({ clientGone: 1, failed: 0 });
});

test("a request whose replica dies before the first byte is answered by another one", async () => {
  // As a killed process does: the request is lost, and from then on nobody listens.
  const dying = await dyingReplica();
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([dying, await echo()])]));
  for (let index = 0; index < 20; index++) {
    const text = await rawClient(router.port, invocation("x", "Connection: close\r\n")).closed;
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  }
  expect(router.load()).toMatchObject({ inFlight: 0, completed: 20, failed: 0 });
});

test("a request that was sent is not repeated where the endpoint is not idempotent, unless the client says it may be", async () => {
  let seen = 0;
  const dying = () =>
    rawReplica((socket) =>
      socket.on("data", () => {
        seen++;
        socket.destroy();
      }),
    );
  const endpoint = endpointOf({ idempotent: false });
  const router = await startTestRouter(snapshotOf([endpoint], [versionOf([await dying(), await dying()])]));
  expect(await rawClient(router.port, invocation("x", "Connection: close\r\n")).closed).toMatch(/^HTTP\/1\.1 502 /);
  expect(seen).toBe(1);
  await rawClient(router.port, invocation("x", "Idempotency-Key: k\r\nConnection: close\r\n")).closed;
  // Two repeats at most: three more tries in all.
  expect(seen).toBe(4);
});

test("a replica that cannot be reached is passed over even where nothing may be repeated", async () => {
  const dead = await deadPort();
  const versions = [versionOf([dead, await echo()])];
  const router = await startTestRouter(snapshotOf([endpointOf({ idempotent: false })], versions));
  for (let index = 0; index < 10; index++) {
    expect(await rawClient(router.port, invocation("x", "Connection: close\r\n")).closed).toMatch(/^HTTP\/1\.1 200 /);
  }
});

test("a stream of events that breaks ends with an error event and without the mark of an end", async () => {
  const port = await rawReplica((socket) =>
    socket.once("data", () => {
      socket.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n",
      );
      setTimeout(() => socket.destroy(), 5);
    }),
  );
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  const body = '{"model":"iris"}';
  const text = await rawClient(
    router.port,
    `POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  ).closed;
  const event = text.split("data: ").at(-1)!.split("\n\n")[0]!;
  expect(JSON.parse(event)).toMatchObject({ error: { code: "PENSTOCK_ANSWER_CUT", type: "server_error" } });
  expect(text).not.toContain("\r\n0\r\n");
  expect(router.load()).toMatchObject({ inFlight: 0, failed: 1 });
});

test("any other answer that breaks is cut, not ended", async () => {
  const port = await rawReplica((socket) =>
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
      setTimeout(() => socket.destroy(), 5);
    }),
  );
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  const text = await rawClient(router.port, invocation("x")).closed;
  expect(text.endsWith("5\r\nhello\r\n")).toBe(true);
});

test("an answer that ends with its connection is handed on in chunks, with an end of its own", async () => {
  const port = await rawReplica((socket) =>
    socket.once("data", () => {
      socket.write("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil ");
      setTimeout(() => socket.end("close"), 5);
    }),
  );
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  const text = await rawClient(router.port, invocation("x", "Connection: close\r\n")).closed;
  expect(text).toContain("transfer-encoding: chunked\r\n");
  expect(text.endsWith("6\r\nuntil \r\n5\r\nclose\r\n0\r\n\r\n")).toBe(true);
  expect(router.load()).toMatchObject({ inFlight: 0, completed: 1 });
});

test("a malformed answer is a 502 and no bytes of it reach the client", async () => {
  const port = await rawReplica((socket) =>
    socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc")),
  );
  const router = await startTestRouter(snapshotOf([endpointOf({ idempotent: false })], [versionOf([port])]));
  const text = await rawClient(router.port, invocation("x", "Connection: close\r\n")).closed;
  expect(text).toMatch(/^HTTP\/1\.1 502 /);
});

test("a replica's refusal is no answer: another replica is asked", async () => {
  const full = await httpReplica((incoming, answer) => {
    incoming.resume();
    answer.writeHead(503, { "x-penstock-refused": "cap" });
    answer.end("full");
  });
  const router = await startTestRouter(
    snapshotOf([endpointOf({ idempotent: false })], [versionOf([full, await echo()])]),
  );
  for (let index = 0; index < 10; index++) {
    expect(await rawClient(router.port, invocation("x", "Connection: close\r\n")).closed).toMatch(/^HTTP\/1\.1 200 /);
  }
  expect(router.load()).toMatchObject({ failed: 0, retries: 0 });
});

test("a kept connection that the replica closed meanwhile costs no request", async () => {
  let connections = 0;
  const port = await rawReplica((socket) => {
    connections++;
    let requests = 0;
    socket.on("data", () => {
      requests++;
      // The second request on a connection meets its end, as when a keep-alive time-out races with it.
      if (requests === 2) socket.destroy();
      else socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
  });
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  for (let index = 0; index < 4; index++) {
    expect(await rawClient(router.port, invocation("x", "Connection: close\r\n")).closed).toMatch(/^HTTP\/1\.1 200 /);
  }
  expect(connections).toBeGreaterThan(1);
  expect(router.load()).toMatchObject({ completed: 4, failed: 0, retries: 0 });
});

test("an answer that does not begin, or stands still, is given up in time", async () => {
  const silent = await httpReplica(() => {});
  const stalling = await httpReplica((_incoming, answer) => answer.write("part"));
  const timeouts = { connectMs: 1_000, firstByteMs: 60, stallMs: 60, requestMs: 60_000 };
  const first = await startTestRouter(snapshotOf([endpointOf({ timeouts })], [versionOf([silent])]));
  expect(await rawClient(first.port, invocation("x", "Connection: close\r\n")).closed).toMatch(/^HTTP\/1\.1 504 /);
  expect(first.load()).toMatchObject({ inFlight: 0, failed: 1 });
  const second = await startTestRouter(snapshotOf([endpointOf({ timeouts })], [versionOf([stalling])]));
  expect((await rawClient(second.port, invocation("x")).closed).endsWith("part\r\n")).toBe(true);
  expect(second.load()).toMatchObject({ inFlight: 0, failed: 1 });
});

test("a thousand requests held at zero are all answered once a replica appears", async () => {
  const port = await echo();
  const empty = snapshotOf([endpointOf()], [versionOf([])]);
  const router = await startTestRouter(empty);
  const clients = Array.from({ length: 1_000 }, (_, index) =>
    rawClient(router.port, invocation(`<${index}>`, "Connection: close\r\n")),
  );
  await eventually(() => router.load().queued === 1_000);
  // One rising edge, however many wait.
  expect(router.messages.filter((message) => message.kind === "wake")).toHaveLength(1);
  router.apply(snapshotOf([endpointOf()], [versionOf([port])]));
  const answers = await Promise.all(clients.map((client) => client.closed));
  for (const [index, text] of answers.entries()) expect(text.endsWith(`<${index}>`)).toBe(true);
  expect(router.load()).toMatchObject({ inFlight: 0, queued: 0, completed: 1_000 });
});

test("a held request whose time is up gets a 503 that says when to come again", async () => {
  const queue = { maxRequests: 10, maxBytes: 1_000, maxWaitMs: 50 };
  const router = await startTestRouter(snapshotOf([endpointOf({ queue })], [versionOf([])]));
  const text = await rawClient(router.port, invocation("x", "Connection: close\r\n")).closed;
  expect(text).toMatch(/^HTTP\/1\.1 503 /);
  expect(text).toMatch(/retry-after: \d+\r\n/);
  expect(JSON.parse(text.split("\r\n\r\n")[1]!)).toMatchObject({ error_code: "TEMPORARILY_UNAVAILABLE" });
});

test("a client that does not read holds its replica back instead of filling memory", async () => {
  let written = 0;
  const port = await httpReplica((_incoming, answer) => {
    const piece = Buffer.alloc(65_536, "x");
    const pour = () => {
      while (written < 200_000_000) {
        written += piece.length;
        if (!answer.write(piece)) {
          answer.once("drain", pour);
          return;
        }
      }
      answer.end();
    };
    pour();
  });
  const router = await startTestRouter(snapshotOf([endpointOf()], [versionOf([port])]));
  const client = rawClient(router.port);
  client.socket.pause();
  client.socket.write(invocation("x"));
  let before = -1;
  await eventually(() => {
    const stands = written > 0 && written === before;
    before = written;
    return stands;
  });
  // Socket buffers of the kernel take some megabytes; the rest of the 200 MB must not have been read.
  expect(written).toBeLessThan(50_000_000);
  client.socket.destroy();
  await eventually(() => router.load().inFlight === 0);
});
