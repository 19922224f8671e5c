import { type BoardView, REGION_KEY } from "../../domain/board.ts";
import type { EndpointName } from "../../domain/names.ts";
import type { Published, Route } from "../../domain/snapshot.ts";
import type { SnapshotSender } from "./send.ts";

/** Writes a fact of the book on the Board. */
interface Writer<V> {
  set(key: string, value: V): void;
  remove(key: string): void;
}

/** The facts that only the book writes. */
export interface BookWriters {
  readonly route: Writer<Route>;
  readonly snapshot: Writer<Published>;
}

/**
 * Numbers what routers hold: each change of a route or of the keys is the next snapshot, and costs no more than that route.
 * The first one of a process waits until every endpoint has its route: routers take it in the place of all they had.
 */
export class SnapshotBook {
  readonly #board: BoardView;
  readonly #writers: BookWriters;
  readonly #sender: SnapshotSender;
  readonly #incarnation: number;
  #number = 0;

  constructor(board: BoardView, writers: BookWriters, sender: SnapshotSender, incarnation: number) {
    this.#board = board;
    this.#writers = writers;
    this.#sender = sender;
    this.#incarnation = incarnation;
  }

  /** Takes what publisher decided of an endpoint; null takes its route away. */
  decided(endpoint: EndpointName, route: Route | null): void {
    const before = this.#board.get("route", endpoint);
    if (route === null) this.#writers.route.remove(endpoint);
    else this.#writers.route.set(endpoint, route);
    const after = this.#board.get("route", endpoint);
    if (this.#number === 0) {
      this.look();
      return;
    }
    const isSame = before.kind === "known" && after.kind === "known" && before.generation === after.generation;
    if (isSame || (before.kind === "missing" && after.kind === "missing")) return;
    this.#next();
    this.#sender.routeChanged(endpoint, before.kind === "known" ? before.value : null);
  }

  /** The keys changed. */
  keysChanged(): void {
    if (this.#number === 0) {
      this.look();
      return;
    }
    this.#next();
    this.#sender.keysChanged();
  }

  /** Makes the first snapshot once all of it is known. */
  look(): void {
    if (this.#number > 0 || !this.#isWhole()) return;
    this.#next();
    this.#sender.keysChanged();
  }

  /** Without keys a snapshot would open a region that asks for them; without endpoints, a machine shows that there is none to wait for. */
  #isWhole(): boolean {
    const endpoints = [...this.#board.keys("spec"), ...this.#board.keys("rollout")];
    return (
      this.#board.get("keys", REGION_KEY).kind === "known" &&
      (endpoints.length > 0 || this.#board.keys("machine").length > 0) &&
      endpoints.every((name) => this.#board.get("route", name).kind === "known")
    );
  }

  #next(): void {
    this.#number += 1;
    this.#writers.snapshot.set(REGION_KEY, { generation: { incarnation: this.#incarnation, number: this.#number } });
  }
}
