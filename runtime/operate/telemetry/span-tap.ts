import type { HrTime, SpanContext } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-node";
import { UserError } from "../../core/errors.ts";
import type { RequestSpan, Tap } from "../../ports/tap.ts";

/** SpanKind.SERVER, SpanStatusCode.UNSET and ERROR, TraceFlags.SAMPLED: numbers of the OpenTelemetry API, not loaded for them. */
const KIND_SERVER = 1;
const STATUS_UNSET = 0;
const STATUS_ERROR = 2;
const SAMPLED = 1;

/** A tap that sends spans on, until it is closed. */
export interface SpanTap extends Tap {
  /** Sends what is left, and ends. */
  close(): Promise<void>;
}

/** What the tap needs to know of its process. */
export interface SpanTapOptions {
  /** `service.name` unless OTEL_SERVICE_NAME says otherwise. */
  readonly serviceName: string;
  /** Unix time less the clock that the spans' times are of, in milliseconds; asked at each span, since wall time may step. */
  readonly wallOffsetMs: () => number;
}

/**
 * A tap that exports each request as a span over OTLP (HTTP, protobuf), where the usual OTEL_* variables ask for it;
 * null, with nothing loaded, where they do not. Spans leave in batches; a collector that is away costs spans, never
 * requests. Errors: UserError when the variables ask for a protocol that is not spoken here.
 */
export async function createSpanTap(
  env: Readonly<Record<string, string | undefined>>,
  { serviceName, wallOffsetMs }: SpanTapOptions,
): Promise<SpanTap | null> {
  const url = exportUrl(env);
  if (url === null) return null;
  const [{ BatchSpanProcessor }, { OTLPTraceExporter }, resources] = await Promise.all([
    import("@opentelemetry/sdk-trace-node"),
    import("@opentelemetry/exporter-trace-otlp-proto"),
    import("@opentelemetry/resources"),
  ]);
  const processor = new BatchSpanProcessor(new OTLPTraceExporter({ url }));
  const resource = resources
    .defaultResource()
    .merge(resources.resourceFromAttributes({ "service.name": serviceName }))
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  return {
    requestEnded: (span) => processor.onEnd({ ...asReadable(span, wallOffsetMs()), resource }),
    close: () => processor.shutdown(),
  };
}

/** Where spans go by the OTEL_* variables, or null where none are asked for. */
function exportUrl(env: Readonly<Record<string, string | undefined>>): string | null {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, "");
  const url = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base ? `${base}/v1/traces` : undefined);
  if (!url || env.OTEL_SDK_DISABLED === "true" || env.OTEL_TRACES_EXPORTER === "none") return null;
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL ?? "http/protobuf";
  if (protocol === "http/protobuf") return url;
  throw new UserError(
    "PENSTOCK_OTLP_PROTOCOL",
    `traces can't be sent over ${protocol}`,
    "Set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and the collector's HTTP port (usually 4318).",
  );
}

function asReadable(span: RequestSpan, offsetMs: number): Omit<ReadableSpan, "resource"> {
  const { traceId, spanId, parentSpanId, arrivedAtMs, firstByteAtMs, endedAtMs } = span;
  const context = (id: string): SpanContext => ({ traceId, spanId: id, traceFlags: SAMPLED });
  const firstByte = firstByteAtMs === null ? [] : [{ name: "first byte", time: hrTime(firstByteAtMs + offsetMs) }];
  return {
    name: `serve ${span.endpoint}`,
    kind: KIND_SERVER,
    spanContext: () => context(spanId),
    ...(parentSpanId === null ? {} : { parentSpanContext: { ...context(parentSpanId), isRemote: true } }),
    startTime: hrTime(arrivedAtMs + offsetMs),
    endTime: hrTime(endedAtMs + offsetMs),
    duration: hrTime(endedAtMs - arrivedAtMs),
    ended: true,
    status: { code: span.status >= 500 ? STATUS_ERROR : STATUS_UNSET },
    attributes: {
      "http.response.status_code": span.status,
      "penstock.endpoint": span.endpoint,
      "penstock.version": span.version,
      "penstock.replica": span.replica,
      "penstock.request_id": span.requestId,
      "penstock.outcome": span.outcome,
      "penstock.attempts": span.attempts,
    },
    links: [],
    events: firstByte.map((event) => ({ ...event, attributes: {} })),
    instrumentationScope: { name: "penstock.router" },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** [seconds, nanoseconds] of milliseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
