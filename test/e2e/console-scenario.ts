import { asMonoMs, asWallMs } from "../../runtime/core/time.ts";
import { REGION_KEY } from "../../runtime/domain/board.ts";
import type { RolledVersion } from "../../runtime/domain/rollout.ts";
import type { Version } from "../../runtime/domain/version.ts";
import {
  aHosted,
  aReport,
  aRolledVersion,
  aRollout,
  aRouterLoad,
  aSpec,
  aVersion,
  aVersionLoad,
  bucketsWith,
} from "../../runtime/operate/testing/facts.ts";
import { FakeClock, FakeRegion } from "../../runtime/operate/testing/fake-region.ts";
import type { Clock } from "../../runtime/ports/clock.ts";

/** How long the region has been running when a browser first looks: the charts are full. */
const BEFORE_S = 900;

/** A version's load over time: requests in a second and what they take. */
interface Load {
  readonly version: Version;
  readonly qpsAt: (second: number) => number;
  readonly serviceMs: number;
}

/** A region with an endpoint in each state that the console draws, and 15 minutes of traffic behind it. */
export class ConsoleScenario {
  readonly #fake = new FakeClock();
  readonly region: FakeRegion;
  readonly #loads: readonly Load[];
  readonly #counts = new Map<string, { arrivals: number; buckets: number[]; cpuMs: number }>();
  #second = 0;

  constructor() {
    const startMs = Date.now() - BEFORE_S * 1_000;
    const wallMs = () => asWallMs(startMs + this.#fake.monoMs());
    const clock: Clock = {
      monoMs: this.#fake.monoMs,
      wallMs,
      now: () => ({ mono: this.#fake.monoMs(), wall: wallMs() }),
      after: (delayMs, callback) => this.#fake.after(delayMs, callback),
    };
    this.region = new FakeRegion(clock);
    const irisNow = versionOf("iris", "a", startMs + 1_000);
    const irisNext = versionOf("iris", "b", startMs + 600_000);
    const chat = { ...versionOf("smollm2", "c", startMs), runtime: "gguf" as const };
    const wave = (second: number) => 60 + 40 * Math.sin(second / 60) + (second % 7);
    this.#loads = [
      { version: irisNow, qpsAt: (second) => wave(second) * 0.9, serviceMs: 1.5 },
      { version: irisNext, qpsAt: (second) => (second < 620 ? 0 : wave(second) * 0.1), serviceMs: 2.9 },
      { version: chat, qpsAt: (second) => (second % 90 < 50 ? 3 : 1), serviceMs: 900 },
    ];
    this.#putIris(irisNow, irisNext);
    this.#putChat(chat);
    this.#putTroubled();
    this.#putMachine();
    this.#decide(irisNow);
    this.#log(irisNow);
  }

  /** Lets time pass, a second at a time, with the traffic of each. */
  pass(seconds: number): void {
    for (let passed = 0; passed < seconds; passed++) {
      this.#second += 1;
      this.#reportLoad();
      this.#fake.advance(1_000);
    }
  }

  /** Lets the first 15 minutes pass. */
  fillCharts(): void {
    this.pass(BEFORE_S);
  }

  #reportLoad(): void {
    const rows = this.#loads.map(({ version, qpsAt, serviceMs }) => {
      const count = this.#counts.get(version.id) ?? { arrivals: 0, buckets: [], cpuMs: 0 };
      this.#counts.set(version.id, count);
      const requests = Math.round(qpsAt(this.#second));
      const slow = Math.round(requests * 0.02);
      const added = bucketsWith([
        { ms: serviceMs, count: requests - slow },
        { ms: serviceMs * 5, count: slow },
      ]);
      count.arrivals += requests;
      count.buckets = added.map((value, index) => value + (count.buckets[index] ?? 0));
      count.cpuMs += requests * serviceMs * 0.8;
      const inFlight = Math.ceil((requests * serviceMs) / 1_000);
      this.#reportReplica(version, count.cpuMs, count.arrivals, inFlight);
      return aVersionLoad({
        version: version.id,
        endpoint: version.endpoint,
        arrivals: count.arrivals,
        completed: count.arrivals,
        inFlight,
        queued: this.#second % 90 < 6 ? 2 : 0,
        serviceMsBuckets: count.buckets,
        firstByteMsBuckets: count.buckets,
      });
    });
    const atMs = this.region.clock.monoMs();
    this.region.board.put("routerLoad", "router-0", aRouterLoad(this.#second, rows, { receivedAtMs: atMs }), atMs);
  }

  #reportReplica(version: Version, cpuMsTotal: number, progressTotal: number, inFlight: number): void {
    const id = `${version.id}-0`;
    const base = aReport({ id, version: version.id, startedAtMs: version.createdAtMs, progressTotal, inFlight });
    const resources = { ...base.resources, cpuMsTotal };
    this.region.board.put("replica", id, { ...base, resources }, this.region.clock.monoMs());
  }

  #putEndpoint(endpoint: string, versions: readonly RolledVersion[], spec: object = {}): void {
    const { board } = this.region;
    board.put("spec", endpoint, aSpec({ name: endpoint, model: `/models/${endpoint}`, ...spec }));
    board.put("rollout", endpoint, aRollout(versions, endpoint));
  }

  #putWanted(version: Version, replicas: number, targetConcurrency: number): void {
    this.region.board.put("wanted", version.id, { version: version.id, replicas, targetConcurrency });
    this.region.board.put("granted", version.id, { version: version.id, replicas });
  }

  #putHosted(version: Version, fields: Partial<ReturnType<typeof aHosted>> = {}): void {
    const id = `${version.id}-0`;
    this.region.board.put("hosted", id, aHosted({ id, version: version.id, ...fields }));
  }

  #putIris(now: Version, next: Version): void {
    const kept = versionOf("iris", "d", now.createdAtMs - 86_400_000);
    this.#putEndpoint("iris", [
      aRolledVersion({ version: next, weight: 10 }),
      aRolledVersion({ version: now, weight: 90 }),
      aRolledVersion({ version: kept, phase: "kept", weight: 0 }),
    ]);
    this.#putWanted(now, 1, 4);
    this.#putWanted(next, 1, 2);
    this.#putHosted(now, { lastLog: ["listening on 127.0.0.1:9", "warm after 12 inferences"] });
    this.#putHosted(next, { lastExit: { code: 1, signal: null, atMs: asWallMs(next.createdAtMs) } });
  }

  #putChat(chat: Version): void {
    this.#putEndpoint("smollm2", [aRolledVersion({ version: chat })]);
    this.#putWanted(chat, 2, 4);
    this.#putHosted(chat);
    this.region.board.put(
      "hosted",
      `${chat.id}-1`,
      aHosted({ id: `${chat.id}-1`, version: chat.id, state: "starting" }),
    );
  }

  /** One that failed, one that is being prepared, one that sleeps, one whose replica crashes. */
  #putTroubled(): void {
    const { board } = this.region;
    const broken = versionOf("churn", "e", Date.now());
    const why = "not ready within 45 s";
    const lastLog = ["Traceback (most recent call last):", "ModuleNotFoundError: No module named 'xgboost'"];
    this.#putEndpoint("churn", [
      aRolledVersion({ version: broken, phase: "failed", weight: 0, failure: { why, lastLog } }),
    ]);
    board.put("prepared", "churn", {
      endpoint: "churn",
      modelKey: "k",
      deployNumber: 1,
      state: { kind: "ready", version: broken },
    });
    board.put("spec", "embed", aSpec({ name: "embed", model: "https://models.example/minilm.onnx" }));
    const state = { kind: "working", doing: "fetching minilm.onnx", doneBytes: 34e6, totalBytes: 91e6 } as const;
    board.put("prepared", "embed", { endpoint: "embed", modelKey: "k", deployNumber: 1, state });
    const asleep = { ...versionOf("night-batch", "f", Date.now() - 9e6), runtime: "mlflow" as const };
    this.#putEndpoint("night-batch", [aRolledVersion({ version: asleep })]);
    this.#putWanted(asleep, 0, 8);
    const crashing = { ...versionOf("agent-tools", "9", Date.now() - 5e6), runtime: "custom" as const };
    this.#putEndpoint("agent-tools", [aRolledVersion({ version: crashing })]);
    this.#putWanted(crashing, 1, 1);
    const lastExit = { code: 137, signal: "SIGKILL", atMs: asWallMs(Date.now() - 4_000) };
    this.#putHosted(crashing, { state: "waiting", failedStarts: 3, lastExit, lastLog: ["error: port taken"] });
  }

  #putMachine(): void {
    const { board } = this.region;
    const machine = { cpuCount: 8, memoryBytes: 32 * 2 ** 30, memoryAvailableBytes: 19 * 2 ** 30, bootId: "b" };
    board.put("machine", "this-machine", machine);
    const generation = { incarnation: 1, number: 1 };
    board.put("snapshot", REGION_KEY, { generation });
  }

  #decide(version: Version): void {
    const at = (second: number) => asWallMs(version.createdAtMs + second * 1_000);
    const about = { key: version.id, atMonoMs: asMonoMs(0) };
    const output = { version: version.id, replicas: 1, targetConcurrency: 4 };
    const inputs = { demand: 0.42, ready: 1, target: 4, window: "20 s" };
    this.region.decide({ ...about, atWallMs: at(5), reason: "scale: from zero", inputs, output });
    const shadow = { ...output, replicas: 2 };
    const law = "autoscaler/shadow:lower-target";
    this.region.decide({ ...about, atWallMs: at(290), controller: law, reason: "scale: up", inputs, output: shadow });
    this.region.decide({ ...about, atWallMs: at(290), reason: "hold: within tolerance", inputs, output });
    const versions = [
      { version: { id: version.id }, phase: "serving", weight: 90 },
      { version: { id: versionOf("iris", "b", 0).id }, phase: "serving", weight: 10 },
    ];
    const rollout = { endpoint: "iris", versions, updatedAtMs: 0 };
    const why = {
      reason: "move: all replicas ready",
      inputs: { candidate: "iris-bbbbbbbbbb", serving: 2, staging: null },
    };
    this.region.decide({ ...about, ...why, controller: "rollout", key: "iris", atWallMs: at(620), output: rollout });
    this.region.decide({
      ...about,
      controller: "capacity",
      key: "region",
      atWallMs: at(640),
      reason: "grant: short of capacity",
      inputs: { versions: 6, cpuCount: 8, memoryBytes: 34359738368, memoryAvailableBytes: 20401094656 },
      output: { [version.id]: { version: version.id, replicas: 1 } },
      replay: null,
    });
  }

  #log(version: Version): void {
    const { logs } = this.region;
    const at = (second: number) => asWallMs(version.createdAtMs + second * 1_000);
    logs.add("agent", ['{"level":"info","code":"REPLICA_STARTED","replica":"iris-aaaaaaaaaa-0"}'], at(0));
    logs.add(`${version.id}-0`, ["loading /data/artifacts/iris.onnx", "warm after 12 inferences"], at(1));
    logs.add("router", ["WARN replica agent-tools-9999999999-0 refused a connection, ejected for 30 s"], at(40));
    logs.add("agent-tools-9999999999-0", ["error: port taken", "exit 1"], at(41));
  }
}

function versionOf(endpoint: string, letter: string, createdAtMs: number): Version {
  return { ...aVersion(letter, endpoint), createdAtMs: asWallMs(createdAtMs) };
}
