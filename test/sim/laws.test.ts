import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { constantRate, nightsRate, rampRate, spikeRate, stepRate } from "../../runtime/simulator/arrivals.ts";
import { type AutoscalerLabOptions, autoscalerLaw } from "../../runtime/simulator/autoscaler-law.ts";
import { fixedStart, spreadStart } from "../../runtime/simulator/model-fleet.ts";
import { type Experiment, type LabRow, runExperiment } from "../../runtime/simulator/scaling-lab.ts";
import { cpuBound, ioWaiting } from "../../runtime/simulator/service-model.ts";

const MINUTE_MS = 60_000;
/** One second of work on ten cores: a replica carries 10 QPS at a concurrency of 10. */
const service = cpuBound(1_000, 10);

function run(plan: Partial<Experiment>, options: Partial<AutoscalerLabOptions> = {}) {
  const whole: Experiment = {
    seed: 1,
    durationMs: 10 * MINUTE_MS,
    rate: constantRate(10),
    service,
    start: fixedStart(5_000),
    queueMost: 2_000,
    initialReplicas: 1,
    ...plan,
  };
  const law = autoscalerLaw({
    concurrency: { min: 0, max: 1_000_000 },
    service: whole.service,
    startTarget: 10,
    frozenTarget: true,
    ...options,
  });
  return { ...runExperiment(whole, law), law };
}

const asked = (rows: readonly LabRow[], fromMs: number, toMs = Number.POSITIVE_INFINITY) =>
  rows.filter((row) => row.atMs >= fromMs && row.atMs < toMs).map((row) => row.asked);

/** Times the asked count went one way and then the other. */
function turns(counts: readonly number[]): number {
  const moves = counts.slice(1).flatMap((count, index) => {
    const move = Math.sign(count - counts[index]!);
    return move === 0 ? [] : [move];
  });
  return moves.slice(1).filter((move, index) => move !== moves[index]).length;
}

describe("a step from 10 to 10,000 QPS", () => {
  const stepped = run({ rate: stepRate(10, 10_000, MINUTE_MS), start: fixedStart(20_000), durationMs: 6 * MINUTE_MS });

  it("is met within 60 s though each replica takes 20 s to start", () => {
    const steady = stepped.rows.find((row) => row.atMs > MINUTE_MS && row.ready >= 1_000 && row.queued === 0);
    expect(steady?.atMs).toBeLessThan(2 * MINUTE_MS);
  });

  it("does not wind up while models load: pending replicas are supply", () => {
    // 1,000 carry it. What waited in the queue and in full replicas asks for some more for a while, never for double.
    expect(Math.max(...asked(stepped.rows, 0))).toBeLessThanOrEqual(1_500);
  });

  it("gives the same trace for the same seed, and another for another", () => {
    const plan = { rate: stepRate(10, 1_000, MINUTE_MS), durationMs: 3 * MINUTE_MS };
    expect(run(plan).traceHash).toBe(run(plan).traceHash);
    expect(run({ ...plan, seed: 2 }).traceHash).not.toBe(run(plan).traceHash);
  });
});

describe("scaling down", () => {
  it("remembers a peak for 300 s, then goes in steps to what is left", () => {
    const { rows } = run({
      rate: stepRate(1_000, 10, 5 * MINUTE_MS),
      initialReplicas: 110,
      durationMs: 14 * MINUTE_MS,
    });
    const needed = Math.min(...asked(rows, 4 * MINUTE_MS, 5 * MINUTE_MS));
    expect(Math.min(...asked(rows, 5 * MINUTE_MS, 5 * MINUTE_MS + 290_000))).toBe(needed);
    expect(rows.at(-1)?.asked).toBeLessThanOrEqual(3);
    // At most 30 % of the count at the start of a period of 5 s; any 10 s touch three periods at most.
    const counts = asked(rows, 0);
    counts.slice(10).forEach((count, index) => {
      expect(count).toBeGreaterThanOrEqual(counts[index]! * 0.7 ** 3 - 3);
    });
  });

  it("reads no traffic as zero demand and sleeps after the idle window, not as missing data", () => {
    const { rows } = run({ rate: stepRate(10, 0, MINUTE_MS), durationMs: 12 * MINUTE_MS });
    expect(rows.at(-1)).toMatchObject({ asked: 0, reason: "hold: asleep" });
  });

  it("keeps the provisioned minimum through any silence", () => {
    const quiet = { rate: constantRate(0), durationMs: 12 * MINUTE_MS, initialReplicas: 5 };
    // 25 requests in flight provisioned at a target of 10 are 3 replicas.
    const { rows } = run(quiet, { concurrency: { min: 25, max: 1_000 } });
    expect(rows.at(-1)?.asked).toBe(3);
  });
});

describe("nights", () => {
  it("sleep and wake without losing a request", () => {
    const result = run({
      rate: nightsRate(100, 10 * MINUTE_MS, 20 * MINUTE_MS),
      durationMs: 90 * MINUTE_MS,
      start: spreadStart(3_000, 9_000),
    });
    const nights = [25, 55, 85].map((minute) => result.rows.find((row) => row.atMs === minute * MINUTE_MS)?.asked);
    expect(nights).toEqual([0, 0, 0]);
    expect(result.turnedAway).toBe(0);
    expect(result.completed).toBe(result.arrivals);
    // Half a sine of 100 QPS needs 10 replicas at noon; a fleet that never slept would have cost three times its days.
    expect(result.replicaSeconds).toBeLessThan(90 * 60 * 10 * 0.5);
  });
});

describe("waking at zero", () => {
  it("asks once for what the queue needs, and does not count the wait for a start as concurrency", () => {
    // 20 QPS of 1 s work are 2 replicas. In the 30 s of the start 600 requests wait: to be worked off in 15 s they ask
    // for 4 more, and what fills the replicas to their cap for some more; read as concurrency they would be 60.
    const morningMs = 12 * MINUTE_MS;
    const { rows } = run({
      rate: (atMs) => (atMs < MINUTE_MS ? 10 : atMs < morningMs ? 0 : 20),
      start: fixedStart(30_000),
      durationMs: morningMs + 5 * MINUTE_MS,
    });
    expect(rows.find((row) => row.atMs === morningMs - 1_000)?.asked).toBe(0);
    expect(rows.find((row) => row.atMs > morningMs && row.asked > 0)?.atMs).toBeLessThanOrEqual(morningMs + 1_000);
    expect(Math.max(...asked(rows, morningMs))).toBeLessThanOrEqual(10);
  });

  it("goes from none to many in one step where many wait", () => {
    const { rows } = run({ rate: stepRate(0, 5_000, 10_000), initialReplicas: 0, queueMost: 10_000 });
    const first = rows.find((row) => row.asked > 0);
    expect(first?.reason).toMatch(/^scale: /);
    expect(rows.find((row) => row.asked > 100)?.atMs).toBeLessThanOrEqual(25_000);
  });
});

describe("constant load", () => {
  it("never flaps, whatever the rate, the target and the start delay", () => {
    const cases = fc.record({
      rps: fc.integer({ min: 1, max: 400 }),
      target: fc.integer({ min: 1, max: 40 }),
      startMs: fc.integer({ min: 0, max: 60_000 }),
      seed: fc.integer({ min: 1, max: 1_000_000 }),
    });
    fc.assert(
      fc.property(cases, ({ rps, target, startMs, seed }) => {
        // Latency does not depend on the fleet here, so that demand is constant and any turn is the law's own.
        const steady = ioWaiting(999, 1, 1_000_000);
        const { rows } = run(
          {
            rate: constantRate(rps),
            service: steady,
            start: fixedStart(startMs),
            seed,
            durationMs: 30 * MINUTE_MS,
            initialReplicas: Math.ceil(rps / target),
          },
          { startTarget: target },
        );
        // Once the start is behind it: a rare Poisson peak may add a replica and its leaving the window take it away.
        expect(turns(asked(rows, 12 * MINUTE_MS))).toBeLessThanOrEqual(4);
      }),
      { numRuns: 15, seed: 11 },
    );
  });

  it("holds a fleet that is saturated: full replicas and a queue are not low demand", () => {
    // 40 replicas at most by the user's bound, 100 needed: the fleet stays at its bound through the whole half hour.
    const { rows } = run(
      { rate: constantRate(1_000), durationMs: 30 * MINUTE_MS, initialReplicas: 40 },
      { concurrency: { min: 0, max: 400 } },
    );
    expect(new Set(asked(rows, MINUTE_MS))).toEqual(new Set([40]));
  });
});

describe("spikes and ramps", () => {
  it("a spike of 10 s each 4 minutes keeps its replicas between spikes and loses nothing but to its first surprise", () => {
    const { rows } = run({
      rate: spikeRate(20, 600, 4 * MINUTE_MS, 10_000),
      durationMs: 20 * MINUTE_MS,
      queueMost: 20_000,
    });
    // The peak stays in the 300 s window from one spike to the next.
    expect(Math.min(...asked(rows, 8 * MINUTE_MS))).toBeGreaterThanOrEqual(20);
  });

  it("a ramp is followed with the queue of a few seconds at most", () => {
    const { rows } = run({ rate: rampRate(10, 1_000, 0, 10 * MINUTE_MS), start: fixedStart(5_000) });
    const late = rows.filter((row) => row.atMs > MINUTE_MS && row.queued > 5 * (row.ready * 10));
    expect(late).toEqual([]);
  });
});

describe("what is lost or late", () => {
  it("half of all reports lost changes neither the size nor the calm of the fleet", () => {
    const plan = { rate: constantRate(300), durationMs: 20 * MINUTE_MS, initialReplicas: 33 };
    const whole = run(plan);
    const lossy = run(plan, { reportLost: (atMs) => (atMs / 1_000) % 2 === 1 });
    const settled = (rows: readonly LabRow[]) => rows.at(-1)!.asked;
    expect(Math.abs(settled(lossy.rows) - settled(whole.rows))).toBeLessThanOrEqual(3);
    expect(turns(asked(lossy.rows, 10 * MINUTE_MS))).toBeLessThanOrEqual(4);
  });

  it("no reports at all holds the fleet and says so, and nothing goes down before a whole window is seen again", () => {
    const blind = (atMs: number) => atMs > 5 * MINUTE_MS && atMs < 15 * MINUTE_MS;
    const { rows } = run(
      { rate: stepRate(300, 10, 5 * MINUTE_MS), durationMs: 25 * MINUTE_MS, initialReplicas: 36 },
      { reportLost: blind },
    );
    expect(rows.find((row) => row.atMs === 10 * MINUTE_MS)?.reason).toBe("hold: missing-load");
    const held = asked(rows, 4 * MINUTE_MS, 15 * MINUTE_MS + 290_000);
    expect(Math.min(...held)).toBe(held[0]);
    expect(rows.at(-1)?.asked).toBeLessThanOrEqual(3);
  });

  it("a controller restart takes nothing down, and keeps the target", () => {
    const { rows, law } = run(
      { rate: stepRate(300, 10, 5 * MINUTE_MS), durationMs: 20 * MINUTE_MS, initialReplicas: 36 },
      { restartsAtMs: [9 * MINUTE_MS] },
    );
    const before = asked(rows, 8 * MINUTE_MS, 9 * MINUTE_MS);
    const after = asked(rows, 9 * MINUTE_MS, 9 * MINUTE_MS + 295_000);
    expect(Math.min(...after)).toBe(before.at(-1));
    expect(law.target()).toBe(10);
    expect(rows.at(-1)?.asked).toBeLessThanOrEqual(3);
  });
});
