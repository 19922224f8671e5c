import type { ToRouter } from "../../contract/wire/messages.ts";
import { type BoardView, REGION_KEY } from "../../domain/board.ts";
import type { EndpointName } from "../../domain/names.ts";
import { compareGenerations, type Generation, type Route } from "../../domain/snapshot.ts";
import type { Clock } from "../../ports/clock.ts";
import { diffRoutes } from "./diff.ts";

/** At most four snapshots or diffs a second to each router. */
const SEND_GAP_MS = 250;
/** A router whose reports do not show what was sent this long ago did not get it: two reports and their way. */
const UNSEEN_MS = 3_000;

/** The way to the connected routers. */
export interface RouterLink {
  /** Sends to a router; false when it is not connected or was cut off. It says Hello when it is back. */
  send(router: string, message: ToRouter): boolean;
}

interface Way {
  /** What the router has, as far as this side knows: the last one sent on this connection; null where only the whole helps. */
  held: Generation | null;
  /** Routes as the router holds them, of the endpoints that changed since: at most one for each endpoint. */
  readonly behind: Map<EndpointName, Route | null>;
  keysBehind: boolean;
  lastSendMs: number;
  cancel: (() => void) | null;
}

/**
 * The hand that brings the newest snapshot to each router: where the router's own is known, the rows that changed since,
 * whatever the size of the region; the whole otherwise.
 */
export class SnapshotSender {
  readonly #board: BoardView;
  readonly #clock: Clock;
  readonly #link: RouterLink;
  readonly #ways = new Map<string, Way>();

  constructor(board: BoardView, clock: Clock, link: RouterLink) {
    this.#board = board;
    this.#clock = clock;
    this.#link = link;
  }

  /** A router said Hello: it gets the whole unless it holds what was last sent to it or the newest. Saying it again repairs any gap. */
  connected(router: string, holds: Generation | null): void {
    const way = this.#ways.get(router) ?? {
      held: null,
      behind: new Map(),
      keysBehind: false,
      lastSendMs: Number.NEGATIVE_INFINITY,
      cancel: null,
    };
    this.#ways.set(router, way);
    if (!isSame(way.held, holds)) hold(way, isSame(this.#newest(), holds) ? holds : null);
    this.#schedule(router, way);
  }

  /** A router reported which snapshot it serves by: where that is not what was sent a while ago, it gets the whole again. */
  reported(router: string, serves: Generation | null): void {
    const way = this.#ways.get(router);
    if (!way?.held || this.#clock.monoMs() - way.lastSendMs < UNSEEN_MS || isSame(serves, way.held)) return;
    hold(way, null);
    this.#schedule(router, way);
  }

  gone(router: string): void {
    this.#ways.get(router)?.cancel?.();
    this.#ways.delete(router);
  }

  /** An endpoint's route changed from `before`, and the snapshot with it. */
  routeChanged(endpoint: EndpointName, before: Route | null): void {
    for (const [router, way] of this.#ways) {
      if (way.held !== null && !way.behind.has(endpoint)) way.behind.set(endpoint, before);
      this.#schedule(router, way);
    }
  }

  /** The API keys changed, and the snapshot with them; also the first snapshot of this process. */
  keysChanged(): void {
    for (const [router, way] of this.#ways) {
      way.keysBehind = true;
      this.#schedule(router, way);
    }
  }

  stop(): void {
    for (const router of [...this.#ways.keys()]) this.gone(router);
  }

  #newest(): Generation | null {
    const snapshot = this.#board.get("snapshot", REGION_KEY);
    return snapshot.kind === "known" ? snapshot.value.generation : null;
  }

  #schedule(router: string, way: Way): void {
    if (way.cancel !== null || isSame(way.held, this.#newest())) return;
    const delayMs = way.lastSendMs + SEND_GAP_MS - this.#clock.monoMs();
    if (delayMs <= 0) this.#send(router, way);
    else
      way.cancel = this.#clock.after(delayMs, () => {
        way.cancel = null;
        this.#send(router, way);
      });
  }

  #send(router: string, way: Way): void {
    const newest = this.#newest();
    if (newest === null || isSame(way.held, newest)) return;
    const message = way.held === null ? this.#whole(newest) : this.#diff(way, way.held, newest);
    way.lastSendMs = this.#clock.monoMs();
    hold(way, this.#link.send(router, message) ? newest : null);
  }

  #whole(generation: Generation): ToRouter {
    const routes = this.#board.keys("route").flatMap((name) => this.#routeOf(name) ?? []);
    const endpoints = routes.flatMap(({ endpoint }) => endpoint ?? []);
    const versions = routes.flatMap((route) => route.versions);
    return { kind: "snapshot", snapshot: { generation, endpoints, versions, ...this.#keys() } };
  }

  #diff({ behind, keysBehind }: Way, from: Generation, to: Generation): ToRouter {
    const changes = [...behind].map(([name, before]) => ({ from: before, to: this.#routeOf(name) }));
    const { keys, keysRequired } = this.#keys();
    return { kind: "snapshotDiff", from, to, ...diffRoutes(changes), keys: keysBehind ? keys : null, keysRequired };
  }

  #routeOf(endpoint: EndpointName): Route | null {
    const route = this.#board.get("route", endpoint);
    return route.kind === "known" ? route.value : null;
  }

  /** Before the keys are known there is no snapshot to send, so that what stands for them here never leaves. */
  #keys() {
    const known = this.#board.get("keys", REGION_KEY);
    return known.kind === "known"
      ? { keys: known.value.keys, keysRequired: known.value.required }
      : { keys: [], keysRequired: true };
  }
}

/** From now on the router is known to hold this generation, with nothing behind it. */
function hold(way: Way, held: Generation | null): void {
  way.held = held;
  way.behind.clear();
  way.keysBehind = false;
}

function isSame(a: Generation | null, b: Generation | null): boolean {
  return a !== null && b !== null && compareGenerations(a, b) === 0;
}
