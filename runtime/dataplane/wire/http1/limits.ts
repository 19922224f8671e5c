/** Bounds of what one peer may make the router hold or wait for. Sizes in bytes, times in milliseconds. */
export interface Http1Limits {
  /** Request line and all headers; nginx allows 8 + 4 x 8 KiB, Node 16 KiB. */
  readonly headBytes: number;
  readonly headerCount: number;
  readonly targetBytes: number;
  /** One chunk-size line with its extension (RFC 9112 7.1.1 asks for a bound). */
  readonly chunkLineBytes: number;
  readonly trailerBytes: number;
  /** From the first byte of a head to its end: what a slowloris client would stretch. */
  readonly headMs: number;
  /** Silence while a body is being received. */
  readonly bodyIdleMs: number;
  /** Keep-alive: a connection with no request on it. Above the 60 s that common load balancers keep. */
  readonly idleMs: number;
  /** A client that reads nothing while an answer waits for it. */
  readonly writeStallMs: number;
  /** Time a refused client has to read its answer before the socket is destroyed. */
  readonly lingerMs: number;
  readonly connections: number;
}

/** Limits of a router thread. */
export const DEFAULT_LIMITS: Http1Limits = {
  headBytes: 32_768,
  headerCount: 128,
  targetBytes: 8_192,
  chunkLineBytes: 256,
  trailerBytes: 4_096,
  headMs: 10_000,
  bodyIdleMs: 30_000,
  idleMs: 75_000,
  writeStallMs: 60_000,
  lingerMs: 2_000,
  connections: 50_000,
};
