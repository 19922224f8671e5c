import { randomFillSync } from "node:crypto";
import type { TraceContext } from "../../ports/tap.ts";

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/**
 * Continues the client's sampled trace or starts one for `sampleRatio` of the rest; null = not sampled, and the client's
 * header (if any) is passed on as it is. `draw` is uniform in [0, 1).
 */
export function traceOf(traceparent: string | null, sampleRatio: number, draw: number): TraceContext | null {
  const parsed = traceparent === null ? null : TRACEPARENT.exec(traceparent);
  if (parsed !== null) {
    const isSampled = (Number.parseInt(parsed[3]!, 16) & 1) === 1;
    return isSampled ? { traceId: parsed[1]!, spanId: newId(8), parentSpanId: parsed[2]! } : null;
  }
  return draw < sampleRatio ? { traceId: newId(16), spanId: newId(8), parentSpanId: null } : null;
}

/** The header that makes the replica's span a child of the router's. */
export function traceparentOf(trace: TraceContext): string {
  return `00-${trace.traceId}-${trace.spanId}-01`;
}

/** Random bytes are asked for in this many at once: a call for each id cost 0.1 us over all requests at one sampled in 100 (profile). */
const POOL_BYTES = 4_096;
const pool = Buffer.allocUnsafeSlow(POOL_BYTES);
let poolAt = POOL_BYTES;

/** `bytes` random bytes in hex digits. Requires: at most POOL_BYTES. */
function newId(bytes: number): string {
  if (poolAt + bytes > POOL_BYTES) {
    randomFillSync(pool);
    poolAt = 0;
  }
  poolAt += bytes;
  return pool.toString("hex", poolAt - bytes, poolAt);
}
