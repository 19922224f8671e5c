import { sha256Hex } from "../core/canonical.ts";

/** Name of an endpoint: 1 to 40 of a-z, 0-9 and `-`, starting with a letter and ending with a letter or digit. */
export type EndpointName = string;
/** `<endpoint>-<10 hex digits>`: an endpoint's name and the start of its version's content hash. A legal Kubernetes name. */
export type VersionId = string;
/** `<version>-<n>`: one replica slot of a version; n is never reused while the version lives. */
export type ReplicaId = string;
/** Which start of a replica this is: grows with each start of the same id, so that what an old start left is told apart. */
export type Epoch = number;

/** The rule for endpoint names, in one place. */
export const ENDPOINT_NAME_PATTERN = /^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/;

/** The id of a version from its endpoint and the whole content hash (64 hex digits). */
export function versionIdOf(endpoint: EndpointName, contentHash: string): VersionId {
  return `${endpoint}-${contentHash.slice(0, 10)}`;
}

/** The ordinal of a version's first replica. */
export const FIRST_ORDINAL = 1;

/** The id of the n-th replica of a version. */
export function replicaIdOf(version: VersionId, ordinal: number): ReplicaId {
  return `${version}-${ordinal}`;
}

/** The hash under which an API key is stored and sent to routers; the key itself is kept nowhere. */
export function keyHashOf(key: string): string {
  return sha256Hex(`penstock-key:${key}`);
}

/** The name under which the decision log holds what a law running in shadow of `controller` decides. */
export function shadowControllerName(controller: string, shadow: string): string {
  return `${controller}/shadow:${shadow}`;
}

/** The version that a replica belongs to, read from its id. */
export function versionOfReplica(replica: ReplicaId): VersionId {
  return replica.slice(0, replica.lastIndexOf("-"));
}

/** The endpoint that a version belongs to, read from its id. */
export function endpointOfVersion(version: VersionId): EndpointName {
  return version.slice(0, version.lastIndexOf("-"));
}

/** The ordinal of a replica within its version, read from its id. */
export function ordinalOfReplica(replica: ReplicaId): number {
  return Number(replica.slice(replica.lastIndexOf("-") + 1));
}
