import { setTimeout as sleep } from "node:timers/promises";
import type { Prepared } from "../domain/rollout.ts";
import type { Door } from "../domain/version.ts";
import type { ModelMetadata } from "../operate/views/curl-line.ts";
import type { StatusWord } from "../operate/views/status.ts";

/** The part of the API's endpoint view that the start of a region shows. */
export interface EndpointState {
  readonly name: string;
  readonly status: { readonly word: StatusWord; readonly reason: string; readonly todo: string | null };
  readonly prepared: Prepared["state"] | null;
  readonly doors: readonly Door[];
}

/** Words that change by themselves soon. */
const ON_THE_WAY: ReadonlySet<StatusWord> = new Set(["preparing", "starting", "rolling-out", "waking", "scaling"]);

/** Whether an endpoint's state will stay as it is until somebody does something. */
export function isSettled({ status }: EndpointState): boolean {
  return !ON_THE_WAY.has(status.word);
}

const POLL_MS = 100;
const ANSWER_TIMEOUT_MS = 5_000;

/** Reads a running region over its own API. */
export class RegionReader {
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(baseUrl: string, key: string | null) {
    this.#baseUrl = baseUrl;
    this.#headers = key === null ? {} : { authorization: `Bearer ${key}` };
  }

  /** Resolves true once the region answers (also with a refusal for want of a key), false when `limitMs` have passed. */
  async answers(limitMs: number, signal: AbortSignal): Promise<boolean> {
    const untilMs = performance.now() + limitMs;
    while (performance.now() < untilMs && !signal.aborted) {
      const status = await this.#get("/api/v1/region").then(
        (response) => response.status,
        () => 503,
      );
      if (status < 500) return true;
      await sleep(POLL_MS);
    }
    return false;
  }

  /** The endpoints, or null when they can't be read now or not without a key. */
  async endpoints(): Promise<readonly EndpointState[] | null> {
    const body = await this.#json<{ readonly endpoints: readonly EndpointState[] }>("/api/v1/endpoints");
    return body?.endpoints ?? null;
  }

  /** What an endpoint's model says of itself, or null where it says nothing. */
  metadata(endpoint: string): Promise<ModelMetadata | null> {
    return this.#json<ModelMetadata>(`/v2/models/${endpoint}`);
  }

  async #json<T>(path: string): Promise<T | null> {
    try {
      const response = await this.#get(path);
      return response.ok ? ((await response.json()) as T) : null;
    } catch {
      // Away for a moment: whoever asks will ask again.
      return null;
    }
  }

  #get(path: string): Promise<Response> {
    return fetch(`${this.#baseUrl}${path}`, {
      headers: this.#headers,
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
  }
}
