import { beforeEach, expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { createLog } from "../log.ts";
import { type KubeClient, KubeError, type KubeRequest } from "./kube-client.ts";
import { LeaderLease } from "./leader-lease.ts";

const TIMES = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

interface Stored {
  metadata: { resourceVersion: string };
  spec: { holderIdentity?: string; leaseTransitions: number };
}

/** An API server that holds one lease; `hangs` keeps requests until they are given up. */
class FakeApi implements KubeClient {
  lease: Stored | null = null;
  hangs = false;
  asked = 0;
  #version = 0;

  async send({ method, body, signal }: KubeRequest): Promise<unknown> {
    this.asked += 1;
    if (this.hangs) await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    if (method === "GET") {
      if (this.lease === null) throw new KubeError(404, "NotFound", "no lease", null);
      return structuredClone(this.lease);
    }
    const sent = structuredClone(body) as Stored;
    if (sent.metadata.resourceVersion !== this.lease?.metadata.resourceVersion) {
      throw new KubeError(409, "Conflict", "somebody else wrote", null);
    }
    this.#version += 1;
    this.lease = { ...sent, metadata: { resourceVersion: String(this.#version) } };
    return this.lease;
  }

  stream(): Promise<void> {
    throw new Error("a lease is not watched");
  }

  close(): void {}
}

let api: FakeApi;
let clock: FakeClock;

beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
});

function candidate(identity: string) {
  const story: (number | "lost")[] = [];
  const lease = new LeaderLease(
    {
      client: api,
      namespace: "test",
      name: "lease",
      identity,
      times: TIMES,
      clock,
      random: { uniform: () => 0 },
      log: createLog({ level: "error", human: false }),
    },
    { leading: (epoch) => story.push(epoch), lost: () => story.push("lost") },
  );
  return { story, lease };
}

/** Lets all that is under way come to its end, which takes no time by the clock. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function runFor(spanMs: number): Promise<void> {
  await settle();
  for (let leftMs = spanMs; leftMs > 0; leftMs -= 500) {
    clock.runFor(Math.min(500, leftMs));
    await settle();
  }
}

test("a leader that gets no answer stops before its lease is over for others, and only once", async () => {
  const { story } = candidate("one");
  await runFor(4_000);
  expect(story).toEqual([expect.any(Number)]);
  api.hangs = true;
  await runFor(TIMES.renewDeadlineMs);
  expect(story.slice(1)).toEqual(["lost"]);
  await runFor(TIMES.durationMs);
  expect(story.slice(1)).toEqual(["lost"]);
});

test("one request that hangs is given up in time for another: the leadership goes on", async () => {
  const { story } = candidate("one");
  await runFor(4_000);
  api.hangs = true;
  await runFor(TIMES.retryMs + 500);
  api.hangs = false;
  await runFor(60_000);
  expect(story).toHaveLength(1);
});

test("who lost its lease and finds it its own still leads under a larger epoch: its old writes may be on their way", async () => {
  const { story } = candidate("one");
  await runFor(1_000);
  api.hangs = true;
  await runFor(TIMES.renewDeadlineMs + 1_000);
  api.hangs = false;
  await runFor(TIMES.renewDeadlineMs);
  const [first, lost, second] = story;
  expect(lost).toBe("lost");
  expect(second).toBe((first as number) + 1);
});

test("a lease that somebody deleted comes again under a larger epoch than it had", async () => {
  const { story } = candidate("one");
  await runFor(10_000);
  api.lease = null;
  await runFor(10_000);
  const epochs = story.filter((one) => one !== "lost");
  expect(epochs).toHaveLength(2);
  expect(epochs[1]).toBeGreaterThan(epochs[0]!);
  // One leadership ends before the next begins, also in the same process.
  expect(story[1]).toBe("lost");
});

test("a process that is closed while it takes the lease lets go of it", async () => {
  const { lease, story } = candidate("one");
  await lease.close();
  expect(story).toEqual([]);
  expect(api.lease?.spec.holderIdentity).toBeUndefined();
  const askedBefore = api.asked;
  await runFor(60_000);
  expect(api.asked).toBe(askedBefore);
});

test("a lease that was let go of is taken by the next attempt; one that is renewed never", async () => {
  const one = candidate("one");
  await runFor(1_000);
  const other = candidate("other");
  await runFor(60_000);
  expect(other.story).toEqual([]);
  await one.lease.close();
  expect(one.story.at(-1)).toBe("lost");
  await runFor(TIMES.retryMs);
  expect(other.story).toEqual([(one.story[0] as number) + 1]);
});

test("another's lease is waited for by one's own clock, from when it was last seen to change", async () => {
  const one = candidate("one");
  await runFor(1_000);
  const other = candidate("other");
  await settle();
  // Nobody renews from here on: as if the first process had been stopped.
  api.lease!.spec.holderIdentity = "stopped";
  await runFor(TIMES.durationMs - 1_000);
  expect(other.story).toEqual([]);
  await runFor(TIMES.retryMs + 1_500);
  expect([...one.story.slice(2), ...other.story]).toHaveLength(1);
  await one.lease.close();
  await other.lease.close();
});
