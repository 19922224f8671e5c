/** Where a request's span stands in its trace (W3C trace context). */
export interface TraceContext {
  readonly traceId: string;
  /** The router's own span. */
  readonly spanId: string;
  /** The caller's span, or null where the trace starts here. */
  readonly parentSpanId: string | null;
}

/** A finished request, as the tap sees it. Times are monotonic milliseconds of the process. */
export interface RequestSpan extends TraceContext {
  readonly requestId: string;
  readonly endpoint: string;
  readonly version: string;
  readonly replica: string;
  readonly status: number;
  readonly outcome: string;
  readonly attempts: number;
  readonly arrivedAtMs: number;
  readonly firstByteAtMs: number | null;
  readonly endedAtMs: number;
}

/** Receives sampled requests once they end. Called in the request's turn: it must only take note. */
export interface Tap {
  requestEnded(span: RequestSpan): void;
}
