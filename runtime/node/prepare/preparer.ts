import { existsSync } from "node:fs";
import { UserError } from "../../core/errors.ts";
import { type EndpointSpec, modelKeyOf } from "../../domain/endpoint.ts";
import type { EndpointName } from "../../domain/names.ts";
import type { Prepared } from "../../domain/rollout.ts";
import type { Version } from "../../domain/version.ts";
import { RetryableError, systemCode } from "../../packaging/errors.ts";
import { pause } from "../../packaging/exclusive.ts";
import { environmentDir } from "../../packaging/layout.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Progress } from "../fetch/download.ts";
import { makeVersion } from "./make-version.ts";

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

/** Endpoints that are worked on at once: downloads and resolvers wait for the network, builds fill the machine's cores. */
const PARALLEL = 3;
const PROGRESS_EVERY_MS = 250;
const FIRST_RETRY_MS = 2_000;
const LAST_RETRY_MS = 60_000;

interface Work {
  readonly spec: EndpointSpec;
  readonly modelKey: string;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** Makes versions out of specs: one worker per endpoint, at most PARALLEL at work, errors that may pass are retried. */
export class Preparer {
  readonly #deps: PreparerDeps;
  readonly #works = new Map<EndpointName, Work>();
  readonly #ending = new Set<Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(deps: PreparerDeps) {
    this.#deps = deps;
  }

  /**
   * The endpoint shall have the model that `spec` names. The same model and deploy again changes nothing; a newer
   * one ends the work on the old. `kept` is the fact of an earlier life: a ready one whose files are still there is
   * published again as it is.
   */
  want(spec: EndpointSpec, kept: Prepared | null = null): void {
    const modelKey = modelKeyOf(spec);
    const current = this.#works.get(spec.name);
    if (current?.modelKey === modelKey && current.spec.deployNumber === spec.deployNumber) return;
    current?.abort.abort(new Superseded());
    const abort = new AbortController();
    const before = current?.done ?? Promise.resolve();
    const stillGood =
      kept?.modelKey === modelKey && kept.deployNumber === spec.deployNumber && isReady(kept, this.#deps.dataDir);
    const done = stillGood
      ? before.then(() => this.#deps.publish(kept))
      : before.then(() => this.#work(spec, modelKey, abort.signal));
    this.#works.set(spec.name, { spec, modelKey, abort, done });
    this.#ending.add(done);
    void done.finally(() => this.#ending.delete(done));
  }

  /** Ends the work on an endpoint that is gone. */
  forget(endpoint: EndpointName): void {
    this.#works.get(endpoint)?.abort.abort(new Superseded());
    this.#works.delete(endpoint);
  }

  /** Ends all work; resolves when nothing runs any more. A later life goes on from what this one finished. */
  async stop(): Promise<void> {
    for (const { abort } of this.#works.values()) abort.abort(new Superseded());
    await Promise.all(this.#ending);
  }

  async #work(spec: EndpointSpec, modelKey: string, signal: AbortSignal): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      const release = await this.#slot();
      try {
        const failure = await this.#try(spec, modelKey, signal);
        if (failure === null) return;
      } finally {
        release();
      }
      await pause(this.#deps.clock, retryMs, signal).catch(() => null);
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
  }

  /** One try. Returns the error if it may pass, and null when there is nothing more to do. */
  async #try(spec: EndpointSpec, modelKey: string, signal: AbortSignal): Promise<RetryableError | null> {
    const log = this.#deps.log.with({ endpoint: spec.name });
    const tell = (state: Prepared["state"]): void => {
      if (signal.aborted) return;
      try {
        this.#deps.publish({ endpoint: spec.name, modelKey, deployNumber: spec.deployNumber, state });
      } catch (error) {
        throw notPublished(error);
      }
    };
    try {
      const version: Version = await makeVersion(spec, {
        ...this.#deps,
        signal,
        onProgress: throttled(this.#deps.clock, (doing, progress) =>
          tell({
            kind: "working",
            doing,
            doneBytes: progress?.doneBytes ?? null,
            totalBytes: progress?.totalBytes ?? null,
          }),
        ),
        onNote: (note) => log.warn("PREPARE_NOTE", { note }),
      });
      tell({ kind: "ready", version });
      if (!signal.aborted) log.info("PREPARE_READY", { version: version.id, sizeBytes: version.artifact.sizeBytes });
      return null;
    } catch (error) {
      if (signal.aborted) return null;
      const told = asUserError(error, this.#deps);
      log.warn("PREPARE_FAILED", { code: told.code, why: told.message });
      if (told.code === "PENSTOCK_PREPARE_BUG") log.error(told.code, { stack: String((error as Error).stack) });
      try {
        tell({ kind: "failed", code: told.code, why: told.message, todo: told.todo });
      } catch (unsaid) {
        // The state's disk is full, say: what nobody could be told is done again, until they can.
        return unsaid as RetryableError;
      }
      return told instanceof RetryableError ? told : null;
    }
  }

  async #slot(): Promise<() => void> {
    if (this.#running >= PARALLEL) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    };
  }
}

/** The endpoint wants something else now, or the region ends. */
class Superseded extends Error {
  override readonly name = "Superseded";
}

function isReady(kept: Prepared, dataDir: string): boolean {
  if (kept.state.kind !== "ready") return false;
  const { artifact, environmentHash } = kept.state.version;
  const hasEnvironment = environmentHash === null || existsSync(environmentDir(dataDir, environmentHash));
  return hasEnvironment && (artifact.path === "" || existsSync(artifact.path));
}

/** Passes on a change of what is done at once, and progress of the same at most each PROGRESS_EVERY_MS. */
function throttled(
  clock: Clock,
  pass: (doing: string, progress: Progress | null) => void,
): (doing: string, progress: Progress | null) => void {
  let lastDoing = "";
  let lastAtMs = Number.NEGATIVE_INFINITY;
  return (doing, progress) => {
    const now = clock.monoMs();
    const isLast = progress !== null && progress.doneBytes === progress.totalBytes;
    if (doing === lastDoing && now - lastAtMs < PROGRESS_EVERY_MS && !isLast) return;
    lastDoing = doing;
    lastAtMs = now;
    pass(doing, progress);
  };
}

/** A fact that could not be written may be later: it must end neither this work for good nor the process. */
function notPublished(error: unknown): RetryableError {
  const { message } = error as Error;
  if (error instanceof UserError) return new RetryableError(error.code as `PENSTOCK_${string}`, message, error.todo);
  return new RetryableError(
    "PENSTOCK_PREPARED_NOT_SAVED",
    `what was prepared can't be saved: ${message}`,
    "It is tried again by itself.",
  );
}

/** What the file system says of a place that is not as it must be; trying again changes nothing. */
const NEEDS_A_PERSON: ReadonlySet<string> = new Set([
  ...["EACCES", "EPERM", "EROFS"],
  ...["ENOTDIR", "EISDIR", "ELOOP", "ENAMETOOLONG"],
]);

/** Whether the machine says it, which may pass: errors of our own making and of what a file holds have codes too, and do not. */
function isOfSystem(error: unknown): boolean {
  const code = systemCode(error);
  return code === "ERR_SQLITE_ERROR" || /^E[A-Z0-9]+$/.test(code);
}

function asUserError(error: unknown, { dataDir, cacheDir }: PreparerDeps): UserError {
  if (error instanceof UserError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code = systemCode(error);
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new RetryableError(
      "PENSTOCK_DISK_FULL",
      `the disk under ${dataDir} or ${cacheDir} is full (${message})`,
      "Free some space; it is tried again by itself.",
    );
  }
  if (NEEDS_A_PERSON.has(code)) {
    return new UserError(
      "PENSTOCK_FOLDER_NOT_WRITABLE",
      `a file can't be read or written: ${message}`,
      "Correct that file or folder, or the rights on it, then deploy again.",
    );
  }
  if (isOfSystem(error)) {
    return new RetryableError(
      "PENSTOCK_PREPARE_FAILED",
      `the system answers: ${message}`,
      "It is tried again by itself.",
    );
  }
  // One model must not take the control of all others down, again at each start: what nobody foresaw is told as its failure.
  return new UserError(
    "PENSTOCK_PREPARE_BUG",
    `preparing it failed in a way that was not foreseen: ${message}`,
    "Try another way to name the model; the controller's log has the details for a report.",
  );
}
