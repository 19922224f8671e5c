import type { ToRouter } from "../../contract/wire/messages.ts";
import { compareGenerations, type Generation, type Snapshot } from "../../domain/snapshot.ts";
import type { Clock } from "../../ports/clock.ts";
import { diffSnapshots } from "./diff.ts";

/** At most four snapshots or diffs a second to each router. */
const SEND_GAP_MS = 250;
/** A router whose reports do not show what was sent this long ago did not get it: two reports and their way. */
const UNSEEN_MS = 3_000;

/** The way to the connected routers. */
export interface RouterLink {
  /** Sends to a router; false when it is not connected or was cut off. It says Hello when it is back. */
  send(router: string, message: ToRouter): boolean;
}

interface Route {
  /** What the router has, as far as this side knows: the last one sent on this connection. */
  held: Snapshot | null;
  lastSendMs: number;
  cancel: (() => void) | null;
}

/** The hand that brings the newest snapshot to each router: a diff where the router's own is known, the whole otherwise. */
export class SnapshotSender {
  readonly #clock: Clock;
  readonly #link: RouterLink;
  readonly #routes = new Map<string, Route>();
  #newest: Snapshot | null = null;

  constructor(clock: Clock, link: RouterLink) {
    this.#clock = clock;
    this.#link = link;
  }

  /** A router said Hello: it gets the whole unless it holds what was last sent to it or the newest. Saying it again repairs any gap. */
  connected(router: string, holds: Generation | null): void {
    const route = this.#routes.get(router) ?? { held: null, lastSendMs: Number.NEGATIVE_INFINITY, cancel: null };
    const known = [route.held, this.#newest].find(
      (snapshot) => snapshot && holds && compareGenerations(snapshot.generation, holds) === 0,
    );
    route.held = known ?? null;
    this.#routes.set(router, route);
    this.#schedule(router, route);
  }

  /** A router reported which snapshot it serves by: where that is not what was sent a while ago, it gets the whole again. */
  reported(router: string, serves: Generation | null): void {
    const route = this.#routes.get(router);
    if (!route?.held || this.#clock.monoMs() - route.lastSendMs < UNSEEN_MS) return;
    if (serves !== null && compareGenerations(serves, route.held.generation) === 0) return;
    route.held = null;
    this.#schedule(router, route);
  }

  gone(router: string): void {
    this.#routes.get(router)?.cancel?.();
    this.#routes.delete(router);
  }

  /** The snapshot fact changed. */
  changed(snapshot: Snapshot): void {
    this.#newest = snapshot;
    for (const [router, route] of this.#routes) this.#schedule(router, route);
  }

  stop(): void {
    for (const router of [...this.#routes.keys()]) this.gone(router);
  }

  #schedule(router: string, route: Route): void {
    if (route.cancel !== null || this.#newest === null || route.held === this.#newest) return;
    const delayMs = route.lastSendMs + SEND_GAP_MS - this.#clock.monoMs();
    if (delayMs <= 0) this.#send(router, route, this.#newest);
    else route.cancel = this.#clock.after(delayMs, () => this.#sendLater(router, route));
  }

  #sendLater(router: string, route: Route): void {
    route.cancel = null;
    if (this.#newest !== null && route.held !== this.#newest) this.#send(router, route, this.#newest);
  }

  #send(router: string, route: Route, snapshot: Snapshot): void {
    const message: ToRouter =
      route.held === null ? { kind: "snapshot", snapshot } : diffSnapshots(route.held, snapshot);
    route.lastSendMs = this.#clock.monoMs();
    route.held = this.#link.send(router, message) ? snapshot : null;
  }
}
