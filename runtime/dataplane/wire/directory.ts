import type { EndpointName } from "../../domain/names.ts";
import type { Snapshot, SnapshotEndpoint } from "../../domain/snapshot.ts";
import type { Door } from "../../domain/version.ts";
import { type Identity, KeyRing, mayCall } from "./auth.ts";

/** One thread's view of the snapshot: endpoints by name and keys by hash. Replaced whole with each snapshot. */
export class Directory {
  readonly keys: KeyRing;
  readonly #endpoints: ReadonlyMap<EndpointName, SnapshotEndpoint>;

  constructor(snapshot: Snapshot) {
    this.keys = new KeyRing(snapshot);
    this.#endpoints = new Map(snapshot.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  }

  endpoint(name: EndpointName): SnapshotEndpoint | null {
    return this.#endpoints.get(name) ?? null;
  }

  /** Endpoints that the identity may call and that open the door (null = any door), in order of name. */
  list(identity: Identity, door: Door | null): readonly SnapshotEndpoint[] {
    return [...this.#endpoints.values()]
      .filter((endpoint) => mayCall(identity, endpoint.name) && (door === null || endpoint.doors.includes(door)))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }
}
