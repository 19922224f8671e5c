import { OpenAPIHono, type z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { every } from "hono/combine";
import { HTTPException } from "hono/http-exception";
import { UserError } from "../../core/errors.ts";
import { Series } from "../series/series.ts";
import { requireAdmin } from "./auth.ts";
import { ApiError, answerError, invalid } from "./errors.ts";
import type { RegionOperations } from "./operations.ts";
import { addDecisionRoutes } from "./routes/decisions.ts";
import { addEndpointRoutes } from "./routes/endpoints.ts";
import { addEventRoutes } from "./routes/events.ts";
import { addKeyRoutes } from "./routes/keys.ts";
import { addLogRoutes } from "./routes/logs.ts";
import { addMetricsRoute } from "./routes/metrics.ts";
import { addRegionRoutes } from "./routes/region.ts";
import { addTrafficRoutes } from "./routes/traffic.ts";

/** Between two samples of the Board. */
const SAMPLE_MS = 1_000;

/** Largest body: a spec with the longest environment a process takes is far smaller. */
const MAX_BODY_BYTES = 1024 * 1024;

/** What every route works with. */
export interface RouteContext {
  readonly app: OpenAPIHono;
  readonly operations: RegionOperations;
  readonly series: Series;
}

/** A region's HTTP surface and the sampler behind it. */
export interface Api {
  /** Mount further surfaces here (console, metrics) before it is served. */
  readonly app: OpenAPIHono;
  readonly series: Series;
  /** Ends the sampler. */
  close(): void;
}

/** Makes the control API of a region: /api/v1/*, /openapi.json and /docs. Samples the Board each second until closed. */
export function createApi(operations: RegionOperations): Api {
  const app = new OpenAPIHono({
    // A slash at the end changes nothing.
    strict: false,
    defaultHook: (result) => {
      if (result.success) return;
      const { data } = result as { readonly data?: unknown };
      throw invalid(result.error as z.ZodError, data, result.target === "json" ? "body" : result.target);
    },
  });
  app.onError((error, c) => {
    if (!(error instanceof UserError || error instanceof HTTPException)) {
      operations.logs.add("controller", [`${c.req.method} ${c.req.path}: ${error.stack}`], operations.clock.wallMs());
    }
    return answerError(error, c);
  });
  app.notFound((c) => {
    const { method, path } = c.req;
    const allowed = methodsOf(app, path).join(", ");
    if (allowed === "") {
      const [message, todo] = [`there is no ${method} ${path}`, "See /docs for what there is."];
      return answerError(new ApiError(404, "PENSTOCK_NO_SUCH_PATH", message, todo), c);
    }
    c.header("allow", allowed);
    const [message, todo] = [`${path} takes no ${method}`, `Allowed are ${allowed}; see /docs.`];
    return answerError(new ApiError(405, "PENSTOCK_METHOD_NOT_ALLOWED", message, todo), c);
  });
  app.use("/api/*", requireAdmin(operations), requireSmallJson);
  app.use("/metrics", requireAdmin(operations));
  const series = new Series();
  const context: RouteContext = { app, operations, series };
  addRegionRoutes(context);
  addEndpointRoutes(context);
  addTrafficRoutes(context);
  addDecisionRoutes(context);
  addLogRoutes(context);
  addEventRoutes(context);
  addKeyRoutes(context);
  addMetricsRoute(context);
  return { app, series, close: startSampling(operations, series) };
}

const METHODS = ["GET", "HEAD", "PUT", "POST", "PATCH", "DELETE"];

/** The methods that a route answers at a path. */
function methodsOf(app: OpenAPIHono, path: string): readonly string[] {
  return METHODS.filter((method) => {
    const routed = method === "HEAD" ? "GET" : method;
    return app.router.match(routed, path)[0].some(([[, route]]) => route.method === routed);
  });
}

const requireJson: MiddlewareHandler = async (c, next) => {
  const changes = c.req.method === "PUT" || c.req.method === "POST";
  const hasBody = changes && c.req.header("content-length") !== "0" && c.req.raw.body !== null;
  if (hasBody && !/^application\/json\b/i.test(c.req.header("content-type") ?? "")) {
    throw new ApiError(
      415,
      "PENSTOCK_NOT_JSON",
      "the body is not sent as JSON",
      "Send content-type: application/json.",
    );
  }
  await next();
};

const requireSmallJson = every(
  requireJson,
  bodyLimit({
    maxSize: MAX_BODY_BYTES,
    onError: () => {
      throw new ApiError(413, "PENSTOCK_BODY_TOO_LARGE", "the body is over 1 MiB", "Send less.");
    },
  }),
);

function startSampling(operations: RegionOperations, series: Series): () => void {
  let cancel = (): void => {};
  const sampleAndWait = (): void => {
    series.sample(operations.board, operations.clock.now());
    cancel = operations.clock.after(SAMPLE_MS, sampleAndWait);
  };
  sampleAndWait();
  return () => cancel();
}
