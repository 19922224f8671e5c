import { createRoute, z } from "@hono/zod-openapi";
import { endpointInput } from "../../../contract/spec/endpoint.ts";
import type { RouteContext } from "../app.ts";
import { ApiError, errorBody } from "../errors.ts";
import { answers, ERRORS, endpointView, nameParam, seriesSlice, takes } from "../schemas.ts";
import { specOf } from "../spec-of.ts";
import { checkConditions, checkNotOfFile, specNamed, specOrNull, viewNamed } from "../spec-write.ts";

const conditions = z.object({
  "if-match": z
    .string()
    .optional()
    .describe('The generation the change is made for, as in ETag: "3"; * for any, where there must be one'),
  "if-none-match": z.string().optional().describe("* where there must be no such endpoint yet"),
});
const changed = { 412: answers(errorBody, "The endpoint is not as If-Match or If-None-Match asks") } as const;

const listRoute = createRoute({
  method: "get",
  path: "/api/v1/endpoints",
  tags: ["endpoints"],
  summary: "All endpoints",
  responses: { 200: answers(z.object({ endpoints: z.array(endpointView) }), "The endpoints, by name"), ...ERRORS },
});

const getRoute = createRoute({
  method: "get",
  path: "/api/v1/endpoints/{name}",
  tags: ["endpoints"],
  summary: "One endpoint with its versions and replicas",
  request: { params: nameParam },
  responses: { 200: answers(endpointView, "The endpoint; ETag is its generation"), ...ERRORS },
});

const putRoute = createRoute({
  method: "put",
  path: "/api/v1/endpoints/{name}",
  tags: ["endpoints"],
  summary: "Create an endpoint or replace its spec, and look at its artifact again",
  request: { params: nameParam, headers: conditions, body: takes(endpointInput) },
  responses: { 200: answers(endpointView, "Replaced"), 201: answers(endpointView, "Created"), ...changed, ...ERRORS },
});

const deleteRoute = createRoute({
  method: "delete",
  path: "/api/v1/endpoints/{name}",
  tags: ["endpoints"],
  summary: "Remove an endpoint: its replicas finish what they hold, then end",
  request: { params: nameParam, headers: conditions },
  responses: { 204: { description: "Removed" }, ...changed, ...ERRORS },
});

const redeployRoute = createRoute({
  method: "post",
  path: "/api/v1/endpoints/{name}/redeploy",
  tags: ["endpoints"],
  summary: "Look at the artifact again: changed files make a new version",
  request: { params: nameParam },
  responses: { 202: answers(endpointView, "Being looked at"), ...ERRORS },
});

const seriesRoute = createRoute({
  method: "get",
  path: "/api/v1/endpoints/{name}/series",
  tags: ["endpoints"],
  summary: "The last 15 minutes, a point a second, of the endpoint and each of its versions",
  request: {
    params: nameParam,
    query: z.object({ sinceMs: z.coerce.number().default(0).describe("Only points after this time (Unix ms)") }),
  },
  responses: {
    200: answers(
      z.object({ endpoint: seriesSlice.nullable(), versions: z.record(z.string(), seriesSlice) }),
      "Columns of points, oldest first",
    ),
    ...ERRORS,
  },
});

/** Adds the routes that read, write and remove endpoints. */
export function addEndpointRoutes(context: RouteContext): void {
  const { app, operations, series } = context;
  const { board } = operations;
  app.openapi(listRoute, (c) => {
    return c.json({ endpoints: board.keys("spec").map((name) => viewNamed(context, name)) }, 200);
  });
  app.openapi(getRoute, (c) => {
    const view = viewNamed(context, c.req.valid("param").name);
    c.header("etag", `"${view.spec.generation}"`);
    return c.json(view, 200);
  });
  app.openapi(putRoute, (c) => {
    const { name } = c.req.valid("param");
    const input = c.req.valid("json");
    checkNameAndModel(name, input);
    const previous = specOrNull(operations, name);
    if (previous !== null) checkNotOfFile(operations, previous);
    checkConditions(c.req.valid("header"), previous);
    const spec = specOf(input, previous, "api");
    if (spec === previous) operations.redeploy(name);
    else operations.applySpec(spec);
    const view = viewNamed(context, name);
    c.header("etag", `"${view.spec.generation}"`);
    return c.json(view, previous === null ? 201 : 200);
  });
  app.openapi(deleteRoute, (c) => {
    const spec = specNamed(operations, c.req.valid("param").name);
    checkNotOfFile(operations, spec);
    checkConditions(c.req.valid("header"), spec);
    operations.removeEndpoint(spec.name);
    return c.body(null, 204);
  });
  app.openapi(redeployRoute, (c) => {
    const spec = specNamed(operations, c.req.valid("param").name);
    operations.redeploy(spec.name);
    return c.json(viewNamed(context, spec.name), 202);
  });
  app.openapi(seriesRoute, (c) => {
    const { name } = c.req.valid("param");
    const { sinceMs } = c.req.valid("query");
    const { versions } = viewNamed(context, name);
    const slices = versions.map(({ id }) => [id, series.slice(id, sinceMs)] as const);
    const known = slices.flatMap(([id, slice]) => (slice === null ? [] : [[id, slice] as const]));
    return c.json({ endpoint: series.slice(name, sinceMs), versions: Object.fromEntries(known) }, 200);
  });
}

function checkNameAndModel(name: string, input: z.infer<typeof endpointInput>): void {
  const details = [];
  if (input.name !== name) details.push({ path: "name", message: `must be ${name}, as in the path` });
  if (input.model !== "" && !/^(\/|https?:\/\/|pypi:)/.test(input.model)) {
    details.push({
      path: "model",
      message: "must be an absolute path, a URL (http, https) or pypi:PACKAGE==VERSION#FILE",
    });
  }
  if (details.length > 0) {
    throw new ApiError(422, "PENSTOCK_INVALID", "the body is not valid", "Correct the fields that are named.", details);
  }
}
