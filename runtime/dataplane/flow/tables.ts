import type { QueueBounds } from "../../domain/endpoint.ts";
import type { EndpointName, VersionId } from "../../domain/names.ts";
import type { Asked, Seat } from "./lease.ts";

/** An endpoint's row in one thread. */
export interface EndpointTable<R extends Asked> {
  readonly name: EndpointName;
  slot: number;
  queueBounds: QueueBounds;
  split: readonly { readonly version: VersionTable<R>; readonly weight: number }[];
}

/** A version's row in one thread. */
export interface VersionTable<R extends Asked> {
  readonly id: VersionId;
  readonly endpoint: EndpointName;
  readonly slot: number;
  hardCap: number;
  seats: readonly Seat[];
  readonly leasesType?: R;
}
