import { type EndpointName, keyHashOf } from "../../domain/names.ts";
import type { Snapshot, SnapshotKey } from "../../domain/snapshot.ts";
import type { RequestHead } from "./http1/request-head.ts";

/** Keys seen lately, so that a known key costs a map lookup and not a hash. */
const CACHE_ENTRIES = 4_096;

/** Who asks: a key, nobody where keys are not required, or why not. */
export type Identity =
  | { readonly kind: "key"; readonly key: SnapshotKey }
  | { readonly kind: "anonymous" }
  | { readonly kind: "missing" }
  | { readonly kind: "unknown" };

const ANONYMOUS: Identity = { kind: "anonymous" };
const MISSING: Identity = { kind: "missing" };
const UNKNOWN: Identity = { kind: "unknown" };

/** The API keys of a snapshot, by hash; the cache forgets with each snapshot. */
export class KeyRing {
  readonly #byHash = new Map<string, Identity>();
  readonly #cache = new Map<string, Identity>();
  readonly isRequired: boolean;

  constructor(snapshot: Pick<Snapshot, "keys" | "keysRequired">) {
    this.isRequired = snapshot.keysRequired;
    for (const key of snapshot.keys) this.#byHash.set(key.hash, { kind: "key", key });
  }

  /** Reads `Authorization: Bearer KEY` or `x-api-key: KEY`. */
  identify(head: RequestHead): Identity {
    const secret = head.apiKey ?? bearerOf(head.authorization);
    if (secret === null) return this.isRequired ? MISSING : ANONYMOUS;
    const cached = this.#cache.get(secret);
    if (cached !== undefined) return cached;
    const known = this.#byHash.get(keyHashOf(secret));
    if (known === undefined) return this.isRequired ? UNKNOWN : ANONYMOUS;
    if (this.#cache.size >= CACHE_ENTRIES) this.#cache.clear();
    this.#cache.set(secret, known);
    return known;
  }
}

/** Whether an identity may call, or see, an endpoint. */
export function mayCall(identity: Identity, endpoint: EndpointName): boolean {
  if (identity.kind === "anonymous") return true;
  return identity.kind === "key" && (identity.key.endpoints === null || identity.key.endpoints.includes(endpoint));
}

function bearerOf(authorization: string | null): string | null {
  if (authorization === null || authorization.length < 8) return null;
  const isBearer = authorization.startsWith("Bearer ") || /^bearer /i.test(authorization);
  return isBearer ? authorization.slice(7).trim() : null;
}
