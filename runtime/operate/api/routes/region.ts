import { createRoute, z } from "@hono/zod-openapi";
import { REGION_KEY } from "../../../domain/board.ts";
import { viewChecks } from "../../views/checks.ts";
import { valueOrNull } from "../../views/value-or-null.ts";
import type { RouteContext } from "../app.ts";
import { docsPage } from "../docs-page.ts";
import { answers, checkView, ERRORS } from "../schemas.ts";
import { viewNamed } from "../spec-write.ts";

const generation = z
  .object({ incarnation: z.number(), number: z.number() })
  .describe("Orders snapshots over restarts of the controller");

const regionView = z
  .object({
    region: z.string(),
    baseUrl: z.string(),
    dataDir: z.string(),
    regionFile: z.string(),
    startedAtMs: z.number(),
    incarnation: z.number().describe("Grows with each start of the controller"),
    endpoints: z.number(),
    snapshot: generation.nullable().describe("The newest that was published; null before the first"),
    routers: z.record(
      z.string(),
      z.object({
        epoch: z.number(),
        holds: generation.nullable().describe("The snapshot it serves by; null before it has one"),
        silentMs: z.number().describe("Time since its last report"),
      }),
    ),
    machines: z.record(
      z.string(),
      z.object({
        cpuCount: z.number(),
        memoryBytes: z.number(),
        memoryAvailableBytes: z.number(),
        bootId: z.string(),
      }),
    ),
  })
  .openapi("Region");

/** What the region is, what it runs on, and what its routers serve by. */
export type RegionView = z.infer<typeof regionView>;

const regionRoute = createRoute({
  method: "get",
  path: "/api/v1/region",
  tags: ["region"],
  summary: "What this region is and what it runs on",
  responses: { 200: answers(regionView, "The region"), ...ERRORS },
});

const checksRoute = createRoute({
  method: "get",
  path: "/api/v1/checks",
  tags: ["region"],
  summary: "What the doctor finds: each check with a verdict and what to do",
  responses: { 200: answers(z.object({ checks: z.array(checkView) }), "The checks"), ...ERRORS },
});

/** Adds the routes on the region as a whole, and the API's own description. */
export function addRegionRoutes(context: RouteContext): void {
  const { app, operations } = context;
  const { board, info } = operations;
  app.openapi(regionRoute, (c) => {
    const machines = board.keys("machine").flatMap((key) => {
      const known = board.get("machine", key);
      return known.kind === "known" ? [[key, known.value] as const] : [];
    });
    const nowMs = operations.clock.monoMs();
    const routers = board.keys("routerLoad").flatMap((key) => {
      const known = board.get("routerLoad", key);
      if (known.kind === "missing") return [];
      const { epoch, snapshotGeneration: holds, receivedAtMs } = known.value;
      return [[key, { epoch, holds, silentMs: nowMs - receivedAtMs }] as const];
    });
    const view = {
      ...info,
      endpoints: board.keys("spec").length,
      snapshot: valueOrNull(board.get("snapshot", REGION_KEY))?.generation ?? null,
      routers: Object.fromEntries(routers),
      machines: Object.fromEntries(machines),
    };
    return c.json(view, 200);
  });
  app.openapi(checksRoute, (c) => {
    const endpoints = board.keys("spec").map((name) => viewNamed(context, name));
    return c.json({ checks: viewChecks(board, endpoints, operations.clock.monoMs()) }, 200);
  });
  const document = { openapi: "3.1.0", info: { title: "Penstock control API", version: "1.0.0" } };
  app.openAPIRegistry.registerComponent("securitySchemes", "key", { type: "http", scheme: "bearer" });
  app.doc31("/openapi.json", { ...document, security: [{ key: [] }, {}] });
  app.get("/docs", (c) => c.html(docsPage(app.getOpenAPI31Document(document))));
}
