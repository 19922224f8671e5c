import type { EndpointSpec } from "../../domain/endpoint.ts";
import type { EndpointName } from "../../domain/names.ts";
import type { Prepared } from "../../domain/rollout.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

/** What a Preparer works with. `publish` gets each new `prepared` fact; progress comes at most four times a second. */
export interface PreparerDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Shared by all regions of the machine: downloaded models, tools, Python environments. */
  readonly cacheDir: string;
  /** The region's own folder: snapshots of artifacts, locks of environments. */
  readonly dataDir: string;
  publish(prepared: Prepared): void;
}

/** Makes versions out of specs: one worker per endpoint, at most `PARALLEL` at work, errors that may pass are retried. */
export class Preparer {
  readonly #deps: PreparerDeps;

  constructor(deps: PreparerDeps) {
    this.#deps = deps;
  }

  /**
   * The endpoint shall have the model that `spec` names. The same model and generation again changes nothing; a newer
   * one ends the work on the old. `kept` is the fact of an earlier life: a ready one whose files are still there is
   * published again as it is.
   */
  want(spec: EndpointSpec, kept: Prepared | null = null): void {
    this.#deps.log.info("PREPARE_WANTED", { endpoint: spec.name, kept: kept !== null });
  }

  /** Ends the work on an endpoint that is gone. */
  forget(endpoint: EndpointName): void {
    this.#deps.log.info("PREPARE_FORGOTTEN", { endpoint });
  }

  /** Ends all work; resolves when nothing runs any more. A later life starts where this one stopped. */
  async stop(): Promise<void> {}
}
