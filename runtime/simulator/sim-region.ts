import { assemble, type RegionControl, type RegionPorts } from "../control/assemble.ts";
import { exponential, splitUniform, type Uniform } from "../core/prng.ts";
import { REGION_KEY } from "../domain/board.ts";
import type { EndpointSpec } from "../domain/endpoint.ts";
import type { Prepared } from "../domain/rollout.ts";
import { nextArrivalMs, type RateRps } from "./arrivals.ts";
import type { StartDelay } from "./model-fleet.ts";
import type { ServiceModel } from "./service-model.ts";
import { SimHost } from "./sim-host.ts";
import { SimRouter } from "./sim-router.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** What a simulated region is made of. */
export interface SimPlan {
  readonly seed: number;
  readonly service: ServiceModel;
  readonly start: StartDelay;
  readonly machineCpuCount: number;
  /** Sizes of requests: all alike, or spread exponentially. */
  readonly sizes: "equal" | "exponential";
  readonly stores: Pick<RegionPorts, "specs" | "kept" | "decisions" | "log">;
}

/**
 * A region in virtual time, event by event: the control of `assemble` (rollout, autoscaler, capacity, fleet, publisher)
 * and the router's flow tables, between modelled clients and modelled replicas. The wire between them is not modelled.
 */
export class SimRegion {
  readonly clock = new VirtualClock();
  readonly host: SimHost;
  readonly router: SimRouter;
  #arrived = 0;
  readonly #plan: SimPlan;
  readonly #sizeUniform: Uniform;
  #control: RegionControl;

  constructor(plan: SimPlan) {
    this.#plan = plan;
    this.#sizeUniform = splitUniform(plan.seed, "size");
    const machine = {
      cpuCount: plan.machineCpuCount,
      memoryBytes: 2 ** 50,
      memoryAvailableBytes: 2 ** 50,
      bootId: "simulated",
    };
    this.host = new SimHost(this.clock, splitUniform(plan.seed, "start"), plan.service, plan.start, machine);
    this.router = new SimRouter(this.clock, this.host, splitUniform(plan.seed, "router"), {
      load: (load) => this.#control.routerLoad(load),
      wake: (version) => this.#control.wake(version),
    });
    this.#control = this.#startControl();
    this.#control.apiKeys.set(REGION_KEY, { required: false, keys: [] });
  }

  get control(): RegionControl {
    return this.#control;
  }

  get arrived(): number {
    return this.#arrived;
  }

  /** Applies an endpoint as its user and the preparer would. */
  deploy(spec: EndpointSpec, prepared: Prepared): void {
    this.#control.spec.set(spec.name, spec);
    this.#control.prepared.set(spec.name, prepared);
  }

  /** Ends the controller and starts another on what the stores kept. */
  restartControl(): void {
    this.#control.stop();
    this.#control = this.#startControl();
  }

  /** Sends requests to an endpoint at a rate that is never above `mostRps`, from now until `endMs`. */
  load(endpoint: string, rate: RateRps, mostRps: number, endMs: number): void {
    const uniform = splitUniform(this.#plan.seed, `arrivals ${endpoint} ${this.clock.monoMs()}`);
    const next = () => {
      const nowMs = this.clock.monoMs();
      const atMs = nextArrivalMs(rate, mostRps, nowMs, endMs, uniform);
      if (atMs >= endMs) return;
      this.clock.after(atMs - nowMs, () => {
        this.#send(endpoint);
        next();
      });
    };
    next();
  }

  /** Clients of a closed loop, from now until `endMs`: each sends its next request as soon as its last one has ended. */
  clients(endpoint: string, count: number, endMs: number): void {
    const send = () => {
      if (this.clock.monoMs() >= endMs) return;
      this.#send(endpoint, () => this.clock.after(0, send));
    };
    for (let client = 0; client < count; client++) send();
  }

  #send(endpoint: string, ended?: () => void): void {
    this.#arrived++;
    const size = this.#plan.sizes === "equal" ? 1 : exponential(this.#sizeUniform, 1);
    this.router.arrive(endpoint, size, ended);
  }

  #startControl(): RegionControl {
    const control = assemble({
      ...this.#plan.stores,
      clock: this.clock,
      host: this.host,
      routers: {
        send: (_router, message) => {
          this.router.take(message);
          return true;
        },
      },
    });
    control.start();
    control.routerConnected("sim-router", null);
    return control;
  }
}
