import { assemble, type Laws, type RegionControl } from "../../runtime/control/assemble.ts";
import { canonicalJson, sha256Hex } from "../../runtime/core/canonical.ts";
import type { Plain } from "../../runtime/core/controller.ts";
import { REGION_KEY } from "../../runtime/domain/board.ts";
import type { EndpointSpec } from "../../runtime/domain/endpoint.ts";
import type { Version } from "../../runtime/domain/version.ts";
import type { Log } from "../../runtime/ports/log.ts";
import { Chaos, ProcessClock } from "./chaos.ts";
import { Checker } from "./checker.ts";
import { FakeClock } from "./fake-clock.ts";
import { MemoryDecisionLog, MemoryKeptStore, MemorySpecStore } from "./memory-stores.ts";
import { ModelledHost, type StartModel } from "./modelled-host.ts";
import { ModelledRouter } from "./modelled-router.ts";
import { preparedOf } from "./specs.ts";

/** How models start, told by their name: `./v2-slow` takes 20 s, `./v3-crashes` never gets ready. */
function startOf(version: Version): StartModel {
  const name = version.artifact.source;
  if (name.includes("crashes")) return "crashes";
  if (name.includes("hangs")) return "hangs";
  return { readyAfterMs: name.includes("slow") ? 20_000 : 1_500 };
}

/** A whole region in virtual time: the real control between modelled replicas, routers and wires, with a checker outside. */
export class ModelledRegion {
  readonly clock = new FakeClock();
  readonly chaos: Chaos;
  readonly checker: Checker;
  readonly host: ModelledHost;
  readonly routers: readonly ModelledRouter[];
  readonly decisions = new MemoryDecisionLog();
  readonly #specs = new MemorySpecStore();
  readonly #kept = new MemoryKeptStore();
  readonly #laws: Partial<Laws>;
  #process: ProcessClock | null = null;
  #control: RegionControl | null = null;

  constructor(seed: number, laws: Partial<Laws> = {}) {
    this.#laws = laws;
    this.chaos = new Chaos(this.clock, seed);
    this.checker = new Checker(this.clock);
    this.host = new ModelledHost({
      clock: this.clock,
      chaos: this.chaos,
      machine: { cpuCount: 8, memoryBytes: 16 * 2 ** 30, memoryAvailableBytes: 16 * 2 ** 30, bootId: "model" },
      events: this.checker,
      startOf,
    });
    this.routers = ["router-a", "router-b"].map((name) => this.#router(name, seed));
    this.startControl();
    this.control.apiKeys.set(REGION_KEY, { required: false, keys: [] });
  }

  get control(): RegionControl {
    if (this.#control === null) throw new Error("the controller is not running");
    return this.#control;
  }

  /** Starts a controller process on what the one before left in its stores. */
  startControl(): void {
    const process = new ProcessClock(this.clock);
    const control = assemble(
      {
        clock: process,
        log: this.#log(),
        specs: this.#specs,
        kept: this.#kept,
        decisions: this.decisions,
        host: this.host,
        routers: {
          send: (name, message) => {
            const router = this.routers.find((candidate) => candidate.name === name);
            this.chaos.carry(() => router?.take(message));
            return router !== undefined;
          },
        },
      },
      this.#laws,
    );
    this.#process = process;
    this.#control = control;
    this.checker.watch(control.board, this.host);
    control.start();
    for (const router of this.routers)
      this.clock.after(500, () => this.#control?.routerConnected(router.name, router.snapshot?.generation ?? null));
  }

  /** Ends the controller as kill -9 does: nothing more is written or sent. */
  killControl(): void {
    this.#process?.kill();
    this.host.cutOff();
    this.#control = null;
  }

  /** A user applies a spec; its version is prepared a second later. While no controller runs, both wait. */
  apply(spec: EndpointSpec): void {
    this.#whenUp(() => {
      this.control.spec.set(spec.name, spec);
      this.clock.after(1_000, () => this.#whenUp(() => this.control.prepared.set(spec.name, preparedOf(spec))));
    });
  }

  /** A user deletes an endpoint. */
  remove(endpoint: string): void {
    this.#whenUp(() => this.control.spec.remove(endpoint));
  }

  /** Sends requests to an endpoint at a steady rate, spread over the routers, for a span. */
  load(endpoint: string, rateRps: number, spanMs: number): void {
    const count = Math.floor((rateRps * spanMs) / 1_000);
    for (let n = 0; n < count; n++) {
      const router = this.routers[n % this.routers.length];
      this.clock.after((n * 1_000) / rateRps, () => router?.request(endpoint));
    }
  }

  /** Hash of every decision made: equal seeds give equal hashes. */
  traceHash(): string {
    return sha256Hex(canonicalJson(this.decisions.whole() as unknown as Plain));
  }

  #whenUp(act: () => void): void {
    if (this.#control === null) this.clock.after(1_000, () => this.#whenUp(act));
    else act();
  }

  #router(name: string, seed: number): ModelledRouter {
    return new ModelledRouter({
      name,
      seed,
      clock: this.clock,
      host: this.host,
      mouth: {
        load: (load) => this.chaos.carry(() => this.#control?.routerLoad(load)),
        wake: (version) => this.chaos.carry(() => this.#control?.wake(version)),
        hello: (holds) => this.chaos.carry(() => this.#control?.routerConnected(name, holds)),
      },
    });
  }

  #log(): Log {
    const log: Log = {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (code, fields) => this.checker.violation(`${code} ${JSON.stringify(fields)}`),
      with: () => log,
    };
    return log;
  }
}
