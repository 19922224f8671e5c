import { EXPOSITION_TYPE, renderExposition } from "../../../core/exposition.ts";
import { regionMetrics } from "../../telemetry/metrics.ts";
import type { RouteContext } from "../app.ts";

/** Adds /metrics in the Prometheus text format. */
export function addMetricsRoute({ app, operations, series }: RouteContext): void {
  app.get("/metrics", (c) => {
    const families = regionMetrics(operations.board, series, operations.decisionCounts());
    return c.body(renderExposition(families), 200, { "content-type": EXPOSITION_TYPE });
  });
}
