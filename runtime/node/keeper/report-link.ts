import { type ControllerLink, dialController } from "../../adapters/controller-link.ts";
import type { LeveledLog } from "../../adapters/log.ts";
import type { ReplicaLaunch } from "../../contract/wire/launch.ts";
import type { ReplicaReport } from "../../domain/replica.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";

/**
 * A keeper's connection to the controller: each new connection says Hello and then the last report again, so that a
 * controller which comes back knows the replica at once. A controller that is away is no error. What the controller has to
 * say to a keeper is the level of its log.
 */
export class ReportLink {
  readonly #link: ControllerLink;
  #last: ReplicaReport | null = null;

  constructor(launch: ReplicaLaunch, ports: { clock: Clock; random: Random; log: LeveledLog }) {
    this.#link = dialController({
      socket: launch.controllerSocket,
      hello: () => ({ kind: "hello", role: "keeper", name: launch.id, epoch: launch.epoch, holds: null }),
      onMessage: (message) => {
        if (message.kind === "logLevel") ports.log.setLevel(message.level);
      },
      onConnected: (link) => {
        if (this.#last !== null) link.send({ kind: "replica", report: this.#last });
      },
      ...ports,
    });
  }

  /** Sends a report now, or as the first thing on the next connection. */
  report(report: ReplicaReport): void {
    this.#last = report;
    this.#link.send({ kind: "replica", report });
  }
}
