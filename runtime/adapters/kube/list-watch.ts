import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Random } from "../../ports/random.ts";
import { type KubeClient, KubeError } from "./kube-client.ts";
import { type KubeObject, keyOf, pathOf, type ResourceType } from "./objects.ts";

/** Objects a page: the API server's own advice for large lists. */
const PAGE_OBJECTS = 500;
/** A watch is asked to end after about this long and begun again, so that load spreads over API servers. */
const WATCH_SECONDS = 300;
/** Bookmarks come about each minute: a watch that is silent for two has lost its server. */
const WATCH_SILENCE_MS = 120_000;
/** A watch that told of nothing and did not last this long is a failure too, or one that can't be kept would be begun without end. */
const SHORT_WATCH_MS = 1_000;
const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 10_000;

/** What changed, as often as it is seen: the same state may be told more than once. */
export interface ListWatchObserver<T extends KubeObject> {
  changed(object: T): void;
  /** The object is gone; `last` is what was known of it. */
  gone(last: T): void;
  /** All objects that exist have been told: after the first list, and after each one that a broken watch made needed. */
  synced(): void;
}

/** What is watched, and by which means. */
export interface ListWatchOptions {
  readonly client: KubeClient;
  readonly type: ResourceType;
  /** Null: all namespaces, or a type that has none. */
  readonly namespace: string | null;
  readonly labelSelector?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; readonly object: T }
  | {
      readonly type: "ERROR";
      readonly object: { readonly code?: number; readonly reason?: string; readonly message?: string };
    };

/**
 * Knows all objects of a type, and keeps knowing them: lists, watches from there, watches again when the server ends it,
 * and lists again when the server has forgotten that place (410) or the watch broke. What went meanwhile is told as gone.
 */
export class ListWatch<T extends KubeObject> {
  readonly #options: ListWatchOptions;
  readonly #observer: ListWatchObserver<T>;
  readonly #objects = new Map<string, T>();
  readonly #ended = new AbortController();
  #failures = 0;
  #wake: () => void = () => {};

  constructor(options: ListWatchOptions, observer: ListWatchObserver<T>) {
    this.#options = options;
    this.#observer = observer;
    void this.#run();
  }

  /** The objects known now, by `namespace/name`. */
  get objects(): ReadonlyMap<string, T> {
    return this.#objects;
  }

  close(): void {
    this.#ended.abort();
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      try {
        let place: string | null = await this.#list();
        while (place !== null && !this.#ended.signal.aborted) place = await this.#watch(place);
      } catch (error) {
        if (this.#ended.signal.aborted) return;
        this.#options.log.warn("KUBE_WATCH_BROKEN", { what: this.#options.type.plural, why: String(error) });
        await this.#pause(error instanceof KubeError ? error.retryAfterSeconds : null);
      }
    }
  }

  /** Reads all pages, tells what differs, and returns the place to watch from. */
  async #list(): Promise<string> {
    const seen = new Map<string, T>();
    let place = "";
    let next: string | undefined;
    do {
      const page = (await this.#options.client.send({
        ...this.#request(),
        query: { limit: PAGE_OBJECTS, continue: next, labelSelector: this.#options.labelSelector },
      })) as { metadata: { resourceVersion: string; continue?: string }; items: readonly T[] };
      for (const object of page.items) seen.set(keyOf(object.metadata), object);
      place = page.metadata.resourceVersion;
      next = page.metadata.continue || undefined;
    } while (next !== undefined);
    for (const [key, object] of [...this.#objects]) {
      // Another object of the same name is another object: the first one is gone.
      if (seen.get(key)?.metadata.uid !== object.metadata.uid) this.#forget(key, object);
    }
    for (const object of seen.values()) this.#learn(object);
    this.#tell("synced", () => this.#observer.synced());
    return place;
  }

  /** Follows changes until the server ends the watch. Returns the place to go on from, or null where it is forgotten. */
  async #watch(from: string): Promise<string | null> {
    const { client, clock } = this.#options;
    const startedAtMs = clock.monoMs();
    let place = from;
    let forgotten = false;
    let isShort = true;
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + this.#options.random.uniform()));
    const query = {
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: place,
      timeoutSeconds,
      labelSelector: this.#options.labelSelector,
    };
    const take = (line: unknown): void => {
      const event = line as WatchEvent<T>;
      if (event.type === "ERROR") {
        if (event.object.code !== 410) throw new Error(event.object.message ?? "the watch failed");
        forgotten = true;
        return;
      }
      isShort = false;
      place = event.object.metadata.resourceVersion ?? place;
      if (event.type === "BOOKMARK") return;
      const key = keyOf(event.object.metadata);
      if (event.type === "DELETED") this.#forget(key, event.object);
      else this.#learn(event.object);
    };
    try {
      await client.stream({ ...this.#request(), query }, WATCH_SILENCE_MS, take);
    } catch (error) {
      if (!(error instanceof KubeError && error.status === 410)) throw error;
      forgotten = true;
    } finally {
      if (clock.monoMs() - startedAtMs >= SHORT_WATCH_MS) isShort = false;
      if (!isShort) this.#failures = 0;
    }
    if (isShort && !this.#ended.signal.aborted) await this.#pause(null);
    return forgotten ? null : place;
  }

  #request(): { method: "GET"; path: string; signal: AbortSignal } {
    const { type, namespace } = this.#options;
    return { method: "GET", path: pathOf(type, namespace), signal: this.#ended.signal };
  }

  #learn(object: T): void {
    const key = keyOf(object.metadata);
    const known = this.#objects.get(key);
    if (known !== undefined && known.metadata.uid !== object.metadata.uid) this.#forget(key, known);
    else if (known?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#objects.set(key, object);
    this.#tell(key, () => this.#observer.changed(object));
  }

  #forget(key: string, last: T): void {
    this.#objects.delete(key);
    this.#tell(key, () => this.#observer.gone(last));
  }

  /** An observer that fails on one object is told of the others all the same; a closed one is told of nothing more. */
  #tell(about: string, tell: () => void): void {
    if (this.#ended.signal.aborted) return;
    try {
      tell();
    } catch (error) {
      this.#options.log.error("KUBE_OBSERVER_FAILED", {
        what: this.#options.type.plural,
        about,
        why: error instanceof Error ? (error.stack ?? error.message) : String(error),
      });
    }
  }

  #pause(askedSeconds: number | null): Promise<void> {
    const { clock, random } = this.#options;
    const longestMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 10);
    const waitMs = Math.max((askedSeconds ?? 0) * 1_000, longestMs * (0.5 + random.uniform() / 2));
    return new Promise((resolve) => {
      const cancel = clock.after(waitMs, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}
