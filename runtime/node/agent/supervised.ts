import type { Epoch } from "../../domain/names.ts";
import type { HostedReplica } from "../../domain/replica.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { type Child, type Command, type Exit, startChild } from "./child.ts";
import type { ProcessLog } from "./process-log.ts";
import type { RunFile } from "./run-file.ts";
import {
  afterBeat,
  afterExit,
  afterReady,
  afterTick,
  decideSlot,
  newSlot,
  type RestartPolicy,
  type Slot,
} from "./supervise.ts";

/** What a supervised process is made of. */
export interface SupervisedOptions {
  readonly id: string;
  /** The command of one start. */
  readonly command: (epoch: Epoch) => Command;
  readonly policy: RestartPolicy;
  readonly output: ProcessLog;
  readonly runFile: RunFile;
  readonly clock: Clock;
  readonly log: Log;
  /** Its state as `view` shows it has changed. */
  readonly onChange: () => void;
  readonly onLines: (lines: readonly string[]) => void;
  /** Nothing runs and nothing is wanted; the last call. */
  readonly onForgotten: () => void;
}

/** One process that is kept alive while it is wanted: carries out what supervise.ts decides. */
export class Supervised {
  readonly #options: SupervisedOptions;
  #slot: Slot;
  #policy: RestartPolicy;
  #wanted = true;
  #forgotten = false;
  #child: Child | null = null;
  #epoch: Epoch = 0;
  #lastExit: HostedReplica["lastExit"] = null;
  #cancelWake = (): void => {};

  /** Starts the process at once. */
  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.#policy = options.policy;
    this.#slot = newSlot(options.clock.monoMs());
    this.#drive();
  }

  get id(): string {
    return this.#options.id;
  }

  /** The changing part of a HostedReplica. */
  get view(): Omit<HostedReplica, "id" | "version"> {
    return {
      epoch: this.#epoch,
      state: viewState(this.#slot),
      pid: this.#child?.pid ?? null,
      failedStarts: this.#slot.failedStarts,
      lastExit: this.#lastExit,
      lastLog: this.#options.output.lastLines,
    };
  }

  /** Wants the process or not; one that is not wanted is asked to end and killed after its grace. */
  want(wanted: boolean, graceMs: number = this.#policy.graceMs): void {
    this.#policy = { ...this.#policy, graceMs };
    this.#wanted = wanted;
    this.#drive();
  }

  /** Tries a crash loop again at once. */
  retryNow(): void {
    if (this.#slot.state.kind !== "crash-loop") return;
    this.#slot = newSlot(this.#options.clock.monoMs());
    this.#drive();
  }

  /** One second has passed. */
  tick(): void {
    this.#slot = afterTick(this.#slot);
    this.#drive();
  }

  /** Kills the process and its group; wanted or not, it goes on from there as decided. */
  kill(): void {
    this.#child?.kill();
  }

  #drive(): void {
    if (this.#forgotten) return;
    const step = decideSlot(this.#slot, this.#wanted, this.#policy, this.#options.clock.monoMs());
    this.#slot = step.slot;
    if (step.action === "start") this.#start();
    else if (step.action === "terminate") this.#child?.terminate();
    else if (step.action === "kill") this.#kill();
    else if (step.action === "forget") this.#forget();
    this.#cancelWake();
    if (step.wakeAtMs !== null) {
      const waitMs = step.wakeAtMs - this.#options.clock.monoMs();
      // A timer may fire a fraction of a millisecond early.
      this.#cancelWake = this.#options.clock.after(Math.max(1, Math.ceil(waitMs)), () => this.#drive());
    }
    if (step.action !== "none" && step.action !== "forget") this.#options.onChange();
  }

  #start(): void {
    const { id, runFile, command, output } = this.#options;
    this.#epoch = runFile.nextEpoch();
    const child = startChild(command(this.#epoch), {
      lines: (lines) => {
        output.append(lines);
        this.#options.onLines(lines);
      },
      sign: (line) => this.#sign(line),
      ended: (exit) => this.#ended(exit),
    });
    this.#child = child;
    if (child.pid !== null) runFile.started(id, child.pid);
  }

  #sign(line: string): void {
    const wasReady = viewState(this.#slot) === "running";
    this.#slot = line === "ready" ? afterReady(this.#slot) : afterBeat(this.#slot);
    if (!wasReady && viewState(this.#slot) === "running") this.#options.onChange();
  }

  #ended(exit: Exit): void {
    const { id, clock, log, runFile } = this.#options;
    const asked = this.#slot.state.kind === "stopping";
    this.#lastExit = { ...exit, atMs: clock.wallMs() };
    this.#child = null;
    runFile.ended(id);
    this.#slot = afterExit(this.#slot, this.#policy, clock.monoMs());
    const fields = { process: id, epoch: this.#epoch, code: exit.code, signal: exit.signal };
    if (asked) log.info("PROCESS_ENDED", fields);
    else {
      const lines = this.#options.output.lastLines;
      // What the model says of its end is worth more than the keeper's structured line about it; the last thing that Node
      // says of an error that ended it is its own version.
      const said = lines.filter((line) => !line.startsWith("{"));
      const why = said.findLast((line) => /error/i.test(line)) ?? said.at(-1) ?? lines.at(-1) ?? "";
      log.warn("PROCESS_DIED", { ...fields, failedStarts: this.#slot.failedStarts, why });
    }
    this.#options.onChange();
    this.#drive();
  }

  #kill(): void {
    this.#options.log.warn(this.#wanted ? "PROCESS_SILENT_KILLED" : "PROCESS_GRACE_OVER_KILLED", { process: this.id });
    this.#child?.kill();
  }

  #forget(): void {
    this.#forgotten = true;
    this.#options.output.close();
    this.#options.onForgotten();
  }
}

function viewState(slot: Slot): HostedReplica["state"] {
  if (slot.state.kind !== "running") return slot.state.kind;
  return slot.state.ready ? "running" : "starting";
}
