import type { SeriesSlice } from "../../../series/series.ts";
import type { EndpointView } from "../../../views/endpoint-view.ts";
import { type ApiClient, Refused } from "./api-client.ts";
import { backoffMs } from "./backoff.ts";
import { forgetProgress, noteProgress, type Progress } from "./progress.ts";
import { addReadings, SPARK_POINTS, type Sparks, seedReadings } from "./sparks.ts";

/** How the console stands with the region. */
export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** Nothing answers; the last picture is kept. */
  | { readonly kind: "away"; readonly why: string; readonly sinceMs: number }
  /** The region answers, but not to us: a key is needed, or a foreign name was used. */
  | { readonly kind: "refused"; readonly refusal: Refused };

/** All endpoints as last told, and how fresh that is. Replaced whole at each change. */
export interface Picture {
  readonly connection: Connection;
  /** By name; null before the first answer. */
  readonly endpoints: readonly EndpointView[] | null;
  readonly progress: ReadonlyMap<string, Progress>;
  readonly sparks: Sparks;
}

/** Keeps the picture of a region up to date by its feed of events, for as long as the page lives. */
export class LiveStore {
  readonly #api: ApiClient;
  readonly #listeners = new Set<() => void>();
  #stop = new AbortController();
  #picture: Picture = {
    connection: { kind: "connecting" },
    endpoints: null,
    progress: new Map(),
    sparks: new Map(),
  };

  constructor(api: ApiClient) {
    this.#api = api;
    setInterval(() => this.#tick(), 1_000);
  }

  get picture(): Picture {
    return this.#picture;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Connects (again): at the start, and when another key was given. */
  start(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    void this.#follow(this.#stop.signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        const { endpoints } = await this.#api.get<{ endpoints: readonly EndpointView[] }>("/endpoints");
        if (signal.aborted) return;
        failures = 0;
        this.#replaceAll(endpoints);
        for await (const { event, data } of this.#api.events("/events", signal)) {
          if (event === "endpoint") this.#replace(JSON.parse(data) as EndpointView);
          if (event === "removed") this.#remove((JSON.parse(data) as { name: string }).name);
        }
        this.#lost("the connection ended");
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refused && error.status < 500) {
          this.#set({ connection: { kind: "refused", refusal: error } });
          return;
        }
        this.#lost(error instanceof Error ? error.message : String(error));
      }
      await sleep(backoffMs(failures), signal);
      failures += 1;
    }
  }

  #lost(why: string): void {
    const { connection } = this.#picture;
    const sinceMs = connection.kind === "away" ? connection.sinceMs : Date.now();
    this.#set({ connection: { kind: "away", why, sinceMs } });
  }

  #replaceAll(endpoints: readonly EndpointView[]): void {
    const replicas = endpoints.flatMap((endpoint) => endpoint.replicas);
    const existing = new Set(replicas.map(({ id }) => id));
    const progress = noteProgress(forgetProgress(this.#picture.progress, existing), replicas, Date.now());
    this.#set({ connection: { kind: "live" }, endpoints: byName(endpoints), progress });
    for (const { name } of endpoints) if (!this.#picture.sparks.has(name)) void this.#seed(name);
  }

  #replace(endpoint: EndpointView): void {
    const others = (this.#picture.endpoints ?? []).filter(({ name }) => name !== endpoint.name);
    const progress = noteProgress(this.#picture.progress, endpoint.replicas, Date.now());
    this.#set({ endpoints: byName([...others, endpoint]), progress });
  }

  #remove(name: string): void {
    this.#set({ endpoints: (this.#picture.endpoints ?? []).filter((endpoint) => endpoint.name !== name) });
  }

  /** What the region recorded before this page came; without it the line only begins later. */
  async #seed(name: string): Promise<void> {
    const path = `/endpoints/${name}/series?sinceMs=${Date.now() - SPARK_POINTS * 1_000}`;
    const series = await this.#api.get<{ endpoint: SeriesSlice | null }>(path).catch(() => null);
    const recorded = series?.endpoint?.columns.qps ?? [];
    this.#set({ sparks: seedReadings(this.#picture.sparks, name, recorded) });
  }

  #tick(): void {
    const { connection, endpoints, sparks } = this.#picture;
    if (connection.kind === "live" && endpoints !== null) this.#set({ sparks: addReadings(sparks, endpoints) });
  }

  #set(change: Partial<Picture>): void {
    this.#picture = { ...this.#picture, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function byName(endpoints: readonly EndpointView[]): readonly EndpointView[] {
  return endpoints.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
