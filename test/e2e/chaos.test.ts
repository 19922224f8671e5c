import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seededUniform, type Uniform } from "../../runtime/core/prng.ts";
import { descendantsOf, isRunning, listenersOn, TestRegion, until } from "./region.ts";
import { ThreadBreaker } from "./router-threads.ts";
import { type Sent, SteadyLoad, type Target } from "./steady-load.ts";

const EXAMPLES = join(import.meta.dirname, "..", "..", "examples");
const SEED = 20;
/** Each kind of victim, this often. */
const ROUNDS = 2;
/** Pauses between two kills, so that some come in the middle of another one's repair. */
const PAUSE_MS = { least: 200, most: 1_500 };
const RATE_PER_SECOND = 60;

const AGENT = {
  model: join(EXAMPLES, "agent"),
  run: { command: [process.execPath, "agent.mjs"] },
  // A replica carries 4 at once until another target is learned: two replicas.
  concurrency: { min: 8, max: 8 },
};
const ENDPOINTS = [
  // Its probe would find that one carries far more: with 4 at once it has two replicas too.
  {
    name: "iris",
    model: join(EXAMPLES, "iris", "iris.onnx"),
    run: { maxInFlight: 4 },
    concurrency: { min: 8, max: 8 },
  },
  // A request takes 300 ms, so that each kill finds some in flight.
  { name: "agent", ...AGENT, idempotent: true },
  // The same, but for a custom command nothing may be sent twice unless its owner says so.
  { name: "once", ...AGENT },
];

const ask = (name: string): Target => ({
  name,
  path: `/endpoints/${name}/ask`,
  body: { question: "why?" },
  isRight: (text) => text === '{"answer":"WHY?","steps":3}',
});
const TARGETS: readonly Target[] = [
  {
    name: "iris",
    path: "/serving-endpoints/iris/invocations",
    body: { inputs: [[5.1, 3.5, 1.4, 0.2]] },
    isRight: (text) => text === '{"predictions":[0]}',
  },
  ask("agent"),
  ask("once"),
];

/** A time in which connections to a router (or one of its threads) were lost with it. */
interface Outage {
  readonly what: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

describe("a region under load, with its processes killed at random", { timeout: 240_000 }, () => {
  let region: TestRegion;
  let breaker: { readonly pid: number; readonly breaker: ThreadBreaker } | null = null;
  let sent: readonly Sent[] = [];
  const outages: Outage[] = [];

  beforeAll(async () => {
    region = await TestRegion.start({ file: { endpoints: ENDPOINTS }, env: { NODE_OPTIONS: "--inspect-port=0" } });
    const load = new SteadyLoad(region.url, RATE_PER_SECOND, TARGETS);
    const random = new Draws(SEED);
    for (const kill of random.shuffled(Array.from({ length: ROUNDS }, () => Object.values(kills)).flat())) {
      await sleep(random.between(PAUSE_MS.least, PAUSE_MS.most));
      await kill(random);
    }
    await until("all replicas are ready again", isWhole);
    sent = await load.stop();
  });
  afterAll(async () => {
    breaker?.breaker.close();
    await region?.end();
  });

  const children = (start: string): { readonly id: string; readonly pid: number }[] =>
    region.children().filter(({ id }) => id.startsWith(start));
  const killOneOf = (random: Draws, pids: readonly number[]): void => {
    // None where an earlier kill is still being repaired.
    if (pids.length > 0) process.kill(pids[random.below(pids.length)]!, "SIGKILL");
  };
  const kills = {
    /** Engine and server of an ONNX model are one process. */
    replica: async (random: Draws) =>
      killOneOf(
        random,
        children("iris-").map(({ pid }) => pid),
      ),
    keeper: async (random: Draws) =>
      killOneOf(
        random,
        [...children("agent-"), ...children("once-")].map(({ pid }) => pid),
      ),
    engine: async (random: Draws) =>
      killOneOf(
        random,
        [...children("agent-"), ...children("once-")].flatMap(({ pid }) => (isRunning(pid) ? descendantsOf(pid) : [])),
      ),
    controller: async (random: Draws) =>
      killOneOf(
        random,
        children("controller").map(({ pid }) => pid),
      ),
    router: async () => {
      const pid = await routerPid();
      const fromMs = performance.now();
      process.kill(pid, "SIGKILL");
      await until("the router answers again", async () => (await routerPid()) !== pid && (await answers()));
      outages.push({ what: "router", fromMs, untilMs: performance.now() });
    },
    thread: async (random: Draws) => {
      const pid = await routerPid();
      if (breaker?.pid !== pid) {
        breaker?.breaker.close();
        breaker = { pid, breaker: await ThreadBreaker.open(pid, () => region.log("router")) };
      }
      // Both threads at once would be the router's death under another name.
      await until("both threads listen", () => listenersOn(Number(new URL(region.url).port)) === 2);
      const fromMs = performance.now();
      await breaker.breaker.throwInThread(random.below(2));
      outages.push({ what: "thread", fromMs, untilMs: performance.now() });
    },
  };

  async function routerPid(): Promise<number> {
    await until("there is a router", () => region.pidOf("router") > 0);
    return region.pidOf("router");
  }

  const answers = (): Promise<boolean> =>
    region.fetch("/healthz").then(
      ({ ok }) => ok,
      () => false,
    );

  async function isWhole(): Promise<boolean> {
    const views = await Promise.all(ENDPOINTS.map(({ name }) => region.endpoint(name).catch(() => null)));
    return views.every(
      (view) => view !== null && view.status.word === "ready" && view.scale.ready === view.scale.wanted,
    );
  }

  const overlaps = ({ sentAtMs, endedAtMs }: Sent): boolean =>
    outages.some(({ fromMs, untilMs }) => sentAtMs <= untilMs && endedAtMs >= fromMs);
  const wrong = (name: string): readonly Sent[] =>
    sent.filter(({ target, result }) => target === name && result !== "right");

  test("every request was answered in the end, one way or the other", () => {
    const routers = outages.filter(({ what }) => what === "router");
    expect(routers).toHaveLength(ROUNDS);
    expect(outages).toHaveLength(2 * ROUNDS);
    const backMs = routers.map(({ fromMs, untilMs }) => Math.round(untilMs - fromMs));
    const lost = sent.filter(({ isConnectionLost }) => isConnectionLost).length;
    console.log(
      `${sent.length} requests; ${lost} lost with the connection to a killed router or thread, ` +
        `${wrong("once").length} of the endpoint whose requests may not be sent twice; router back after ${backMs.join(" and ")} ms`,
    );
    expect(sent.filter(({ result }) => result === "right").length).toBeGreaterThan(0);
  });

  // A connection ends with the router thread that holds it: such a request can be sent again by its client alone.
  test.each(["iris", "agent"])(
    "no request of %s, which may be sent twice, was lost but with its connection to a router that was killed",
    (name) => {
      expect(wrong(name).filter((one) => !(one.isConnectionLost && overlaps(one)))).toEqual([]);
    },
  );

  test("a request that may not be sent twice was lost only with the replica that had it", () => {
    const others = wrong("once").filter((one) => !(one.isConnectionLost && overlaps(one)));
    // 502: the replica of "once" ended before it answered. Nothing else may become of them.
    expect(others.filter(({ result }) => !result.startsWith("502 "))).toEqual([]);
  });

  test("nothing is in flight or waiting any more: each lease was given back once", async () => {
    await region.whenIdle();
  });

  test("the region serves as before", async () => {
    for (const target of TARGETS) {
      const { status, text } = await region.post(target.path, target.body);
      expect({ status, isRight: target.isRight(text) }).toEqual({ status: 200, isRight: true });
    }
  });

  test("kill -9 of its parent leaves no process behind", async () => {
    expect(region.processes().length).toBeGreaterThan(8);
    await region.kill();
    await until("no process is left", () => region.processes().length === 0);
  });
});

/** Draws from a seed: the same victims in the same order on each run. */
class Draws {
  readonly #uniform: Uniform;

  constructor(seed: number) {
    this.#uniform = seededUniform(seed);
  }

  below(count: number): number {
    return Math.floor(this.#uniform() * count);
  }

  between(least: number, most: number): number {
    return least + this.below(most - least);
  }

  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((item) => ({ item, at: this.#uniform() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }
}
