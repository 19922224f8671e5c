import fc from "fast-check";
import { expect, test } from "vitest";
import { COUNTERS_BYTES, ReplicaCounters, readCounts } from "./replica-counters.ts";

const CLASSES = ["chat", "embedding"];

test("property: started less finished is in flight, whatever the order of requests", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ chat: fc.boolean(), ends: fc.boolean(), failed: fc.boolean() })), (events) => {
      const counters = new ReplicaCounters(CLASSES, () => 0);
      const open = { chat: 0, embedding: 0 };
      for (const { chat, ends, failed } of events) {
        const requestClass = chat ? "chat" : "embedding";
        if (ends && open[requestClass] > 0) {
          counters.finished(requestClass, 0, failed);
          open[requestClass]--;
        } else {
          counters.started(requestClass);
          open[requestClass]++;
        }
      }
      const [chat, embedding] = readCounts([new Float64Array(counters.shared)], CLASSES).classes;
      expect(chat!.startedTotal - chat!.finishedTotal).toBe(open.chat);
      expect(embedding!.startedTotal - embedding!.finishedTotal).toBe(open.embedding);
      expect(counters.inFlight()).toBe(open.chat + open.embedding);
    }),
  );
});

test("the longest silence is measured from work appearing, not over idle time", () => {
  let now = 0;
  const counters = new ReplicaCounters(CLASSES, () => now);
  const gap = (): number => readCounts([new Float64Array(counters.shared)], CLASSES).classes[0]!.progressGapMsMax;
  now = 1_000;
  const startedAtMs = counters.started("chat");
  now = 1_300;
  counters.progressed("chat", 1);
  now = 1_350;
  counters.progressed("chat", 1);
  counters.finished("chat", startedAtMs, false);
  // 300 ms from the start to the first token; the next one took 50.
  expect(gap()).toBe(300);
  now = 9_000;
  counters.started("chat");
  now = 9_100;
  counters.progressed("chat", 1);
  expect(gap()).toBe(300);
});

test("worker processes' counters are summed, gaps are not, and unfinished files count as nothing", () => {
  const parts = [0, 1].map((worker) => {
    let now = 0;
    const counters = new ReplicaCounters(CLASSES, () => now);
    counters.started("chat");
    now = 100 * (worker + 1);
    counters.progressed("chat", 1);
    counters.count("tokensTotal", 5);
    return new Float64Array(counters.shared);
  });
  const counts = readCounts([...parts, new Float64Array(0), new Float64Array(COUNTERS_BYTES / 8)], CLASSES);
  expect(counts.classes[0]).toMatchObject({ startedTotal: 2, progressTotal: 2, progressGapMsMax: 200 });
  expect(counts.tokensTotal).toBe(10);
});

test("what the engine has never said is unknown and not 0, and its refusals are 0 from the start", () => {
  const counters = new ReplicaCounters(CLASSES, () => 0);
  const read = () => readCounts([new Float64Array(counters.shared)], CLASSES);
  const unknown = { sequencesActive: null, sequencesWaiting: null, kvUseRatio: null, tokensTotal: null };
  expect(read()).toMatchObject({ ...unknown, batchesTotal: null, batchRowsTotal: null, refusedTotal: 0 });
  counters.gauge("kvUseRatio", 0.5);
  counters.count("tokensTotal", 0);
  expect(read()).toMatchObject({ ...unknown, kvUseRatio: 0.5, tokensTotal: 0 });
});
