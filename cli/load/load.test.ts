import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { AnswerReader } from "./answer-reader.ts";
import { LoadGenerator, type LoadPlan } from "./generator.ts";
import { LogHistogram } from "./log-histogram.ts";
import { parseDurationMs, parseProfile, profileMs } from "./profile.ts";
import { loadReport } from "./report.ts";
import { arrivalTimes } from "./schedule.ts";
import { runLoad } from "./threads.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that answers each request's bytes with what `answer` gives; null = silence. */
async function serve(answer: (n: number) => string | null): Promise<number> {
  let n = 0;
  const server = createServer((socket) => {
    let text = "";
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      for (;;) {
        const end = text.indexOf("\r\n\r\n");
        const length = Number(/content-length: (\d+)/.exec(text)?.[1] ?? 0);
        if (end < 0 || text.length < end + 4 + length) return;
        text = text.slice(end + 4 + length);
        const reply = answer(n++);
        if (reply === "reset") socket.resetAndDestroy();
        else if (reply !== null) socket.write(reply);
      }
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const planFor = (port: number, fields: Partial<LoadPlan> = {}): LoadPlan => ({
  host: "127.0.0.1",
  port,
  path: "/x",
  headers: {},
  body: "{}",
  profile: parseProfile("1000:200ms"),
  arrivals: "constant",
  seed: 1,
  maxConnections: 100,
  timeoutMs: 5_000,
  streamed: false,
  ...fields,
});

describe("the schedule", () => {
  test("an even stream of 10/s for 1 s and 100/s for 1 s is due at fixed times", () => {
    const times = [...arrivalTimes(parseProfile("10:1s,100:1s"), "constant", 1)];
    expect(times.length).toBe(110);
    expect(times.slice(0, 2)).toEqual([100, 200]);
    expect(times.at(-1)).toBeCloseTo(2_000, 6);
  });

  test("a ramp from 0 to 100/s over 2 s sends half as many as 100/s would, a quarter of them in its first half", () => {
    const times = [...arrivalTimes(parseProfile("0-100:2s"), "constant", 1)];
    expect(times.length).toBe(100);
    expect(times.filter((ms) => ms <= 1_000).length).toBe(25);
  });

  test("the same seed gives the same Poisson times, another seed others, with the rate's mean and spread", () => {
    const profile = parseProfile("1000:20s");
    const times = [...arrivalTimes(profile, "poisson", 7)];
    expect([...arrivalTimes(profile, "poisson", 7)]).toEqual(times);
    expect([...arrivalTimes(profile, "poisson", 8)]).not.toEqual(times);
    // 20,000 expected, standard deviation 141: five of them.
    expect(Math.abs(times.length - 20_000)).toBeLessThan(707);
    const gaps = times.slice(1).map((ms, index) => ms - (times[index] ?? 0));
    // Exponential gaps of mean 1 ms: a share e^-1 is longer than the mean.
    expect(gaps.filter((gap) => gap > 1).length / gaps.length).toBeCloseTo(Math.exp(-1), 1);
  });

  test("times ascend within the profile, and threads' shares of an even stream together are the whole", () => {
    const rate = fc.integer({ min: 0, max: 500 });
    const segment = fc.record({ fromRps: rate, toRps: rate, durationMs: fc.integer({ min: 1, max: 2_000 }) });
    fc.assert(
      fc.property(
        fc.array(segment, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 4 }),
        (profile, count) => {
          const whole = [...arrivalTimes(profile, "constant", 1)];
          expect(whole.every((ms, index) => ms >= (whole[index - 1] ?? 0) && ms <= profileMs(profile) + 1e-6)).toBe(
            true,
          );
          const shares = Array.from({ length: count }, (_, index) => [
            ...arrivalTimes(profile, "constant", 1, { index, count }),
          ]).flat();
          expect(Math.abs(shares.length - whole.length)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  test("a profile or duration that is none is refused with an example", () => {
    for (const bad of ["", "10", "x:1s", "10:1", "5-:1s", "9999999:1s"])
      expect(() => parseProfile(bad)).toThrow(/is not|asks for/);
    expect(() => parseDurationMs("0s")).toThrow("0s is not a duration");
    expect(parseDurationMs("1.5m")).toBe(90_000);
  });
});

describe("the histogram", () => {
  test("every quantile is within 1 % of the exact one, also after merging two parts", () => {
    const durations = fc.array(fc.double({ min: 0.01, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(durations, fc.constantFrom(0, 0.5, 0.9, 0.99, 0.999, 1), (values, q) => {
        const [whole, part] = [new LogHistogram(), new LogHistogram()];
        for (const [index, ms] of values.entries()) (index % 2 === 0 ? whole : part).record(ms);
        whole.add(part.counts());
        const exact = values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(q * values.length) - 1)] ?? Number.NaN;
        expect(Math.abs((whole.quantileMs(q) ?? 0) / exact - 1)).toBeLessThanOrEqual(0.01);
        expect(whole.maxMs).toBe(Math.max(...values));
      }),
    );
  });

  test("nothing recorded has no quantile", () => {
    expect([new LogHistogram().quantileMs(0.5), new LogHistogram().maxMs]).toEqual([null, null]);
  });
});

describe("the answer reader", () => {
  const read = (bytes: string, cuts: readonly number[]): { bodies: string; ends: [number, boolean][] } => {
    let bodies = "";
    const ends: [number, boolean][] = [];
    const reader = new AnswerReader({
      body: (piece) => {
        bodies += piece.toString("latin1");
      },
      end: (status, keepAlive) => ends.push([status, keepAlive]),
    });
    let from = 0;
    for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
      reader.push(Buffer.from(bytes.slice(from, Math.max(from, cut)), "latin1"));
      from = Math.max(from, cut);
    }
    return { bodies, ends };
  };

  test("answers come out the same however their bytes are cut", () => {
    const stream =
      "HTTP/1.1 100 Continue\r\n\r\n" +
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc" +
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nde\r\nA;x=1\r\n0123456789\r\n0\r\nt: 1\r\n\r\n" +
      "HTTP/1.1 503 Busy\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: stream.length }), { maxLength: 12 }), (cuts) => {
        expect(read(stream, cuts)).toEqual({
          bodies: "abcde0123456789",
          ends: [
            [200, true],
            [200, true],
            [503, false],
          ],
        });
      }),
    );
  });

  test("what is no HTTP answer is an error", () => {
    expect(() => read("SSH-2.0-x\r\n\r\n", [])).toThrow("not an HTTP answer");
  });
});

describe("a run", () => {
  test("every request of the schedule is sent and counted once, over a pool that is reused", async () => {
    const port = await serve(() => OK);
    const tally = await new LoadGenerator(planFor(port), { index: 0, count: 1 }).run();
    expect([tally.sent, tally.good, tally.failed, tally.inFlight]).toEqual([200, 200, 0, 0]);
    expect(tally.bytes).toBe(400);
    expect(tally.connections).toBeLessThan(200);
  });

  test("a server that stands still for 300 ms is seen in the latency of all that were due meanwhile", async () => {
    const held: (() => void)[] = [];
    const releaseAll = (): void => {
      for (const release of held.splice(0)) release();
    };
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", (chunk) => {
        const requests = chunk.toString("latin1").split("POST ").length - 1;
        const answer = (): void => void socket.write(OK.repeat(requests));
        if (held.length === 0) setTimeout(releaseAll, 300);
        held.push(answer);
      });
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    // One connection: a closed loop would send one request per 300 ms and call each of them 300 ms or less.
    const plan = planFor(port, { maxConnections: 1, profile: parseProfile("20:500ms") });
    const tally = await new LoadGenerator(plan, { index: 0, count: 1 }).run();
    expect(tally.good).toBe(10);
    // The last is due at 500 ms and answered no sooner than the tenth stop, 3 s after the first was due at 50 ms.
    expect(tally.latency.maxMs).toBeGreaterThan(2_000);
  });

  test("errors are counted by kind: refusals, resets, silence, and what is no HTTP", async () => {
    const answers = [OK, "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", "reset", null, "nonsense\r\n\r\n"];
    const port = await serve((n) => answers[n % 5] ?? null);
    const plan = planFor(port, { profile: parseProfile("100:50ms"), timeoutMs: 300, arrivals: "constant" });
    const tally = await new LoadGenerator(plan, { index: 0, count: 1 }).run();
    expect(Object.fromEntries(tally.errors)).toEqual({ "http 503": 1, reset: 1, timeout: 1, "bad answer": 1 });
    expect(tally.good).toBe(1);
  });

  test("a refused connection is an error of its own", async () => {
    const port = await serve(() => OK);
    for (const server of servers.splice(0)) server.close();
    const tally = await new LoadGenerator(planFor(port, { profile: parseProfile("50:100ms") }), {
      index: 0,
      count: 1,
    }).run();
    expect(Object.fromEntries(tally.errors)).toEqual({ "connect ECONNREFUSED": 5 });
  });

  test("a stop sends nothing more and ends what is silent", async () => {
    const port = await serve(() => null);
    const generator = new LoadGenerator(planFor(port, { profile: parseProfile("10:1h") }), { index: 0, count: 1 });
    const finished = generator.run();
    while (generator.tally.sent < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    generator.stop(10);
    const tally = await finished;
    expect(tally.errors.get("stopped")).toBe(tally.sent);
  });

  test("streamed answers give tokens, time to the first and between them", async () => {
    const events = ["a", "b", "c"].map((token) => `data: {"t":"${token}"}\n\n`).join("");
    const body = `${events}data: [DONE]\n\n`;
    const port = await serve(
      () => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    );
    const plan = planFor(port, { profile: parseProfile("100:50ms"), streamed: true });
    const tally = await new LoadGenerator(plan, { index: 0, count: 1 }).run();
    expect([tally.good, tally.tokens, tally.firstToken.count]).toEqual([5, 15, 5]);
    expect(loadReport(tally, 1, 0, true).tokens?.perSecond).toBe(15);
  });

  test("threads send the whole schedule between them", async () => {
    const port = await serve(() => OK);
    const tally = await runLoad(planFor(port), 2).finished;
    expect([tally.sent, tally.good, tally.failed]).toEqual([200, 200, 0]);
  });
});
