import { type Known, missing } from "../../core/known.ts";
import { asMonoMs } from "../../core/time.ts";
import type { BoardView, FactName, Facts, ReplicaFact } from "../../domain/board.ts";
import { type ReplicaId, type VersionId, versionOfReplica } from "../../domain/names.ts";

/** A Board that a test writes as it likes. */
export class FakeBoard implements BoardView {
  readonly #facts = new Map<string, Map<string, Known<Facts[FactName]>>>();
  #observers = new Set<(fact: FactName, key: string) => void>();
  #generation = 0;

  put<F extends FactName>(fact: F, key: string, value: Facts[F], atMs = 0): void {
    const ofFact = this.#facts.get(fact) ?? new Map<string, Known<Facts[FactName]>>();
    this.#facts.set(fact, ofFact);
    ofFact.set(key, { kind: "known", value, atMs: asMonoMs(atMs), generation: ++this.#generation });
    for (const observer of this.#observers) observer(fact, key);
  }

  remove(fact: FactName, key: string): void {
    this.#facts.get(fact)?.delete(key);
    for (const observer of this.#observers) observer(fact, key);
  }

  get<F extends FactName>(fact: F, key: string): Known<Facts[F]> {
    return (this.#facts.get(fact)?.get(key) as Known<Facts[F]> | undefined) ?? missing("never written");
  }

  keys(fact: FactName): readonly string[] {
    return [...(this.#facts.get(fact)?.keys() ?? [])].toSorted();
  }

  replicasOf(fact: ReplicaFact, version: VersionId): readonly ReplicaId[] {
    return this.keys(fact).filter((id) => versionOfReplica(id) === version);
  }

  watch(observer: (fact: FactName, key: string) => void): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }
}
