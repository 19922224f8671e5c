import { createRoute, z } from "@hono/zod-openapi";
import { canonicalJson } from "../../../core/canonical.ts";
import type { Plain } from "../../../core/controller.ts";
import type { DecisionRecord } from "../../../ports/stores.ts";
import { decisionRowOf, decisionsOf } from "../../views/decision-view.ts";
import { compareShadow } from "../../views/shadow-view.ts";
import type { RouteContext } from "../app.ts";
import { ApiError } from "../errors.ts";
import { answers, decisionRow, ERRORS, recordedDecision, replayComparison, shadowRow } from "../schemas.ts";

const listRoute = createRoute({
  method: "get",
  path: "/api/v1/decisions",
  tags: ["decisions"],
  summary: "What the controllers decided and why, newest first",
  request: {
    query: z.object({
      endpoint: z.string().optional().describe("Decisions on the endpoint and on its versions"),
      controller: z.string().optional(),
      key: z.string().optional().describe("Exact key: an endpoint, a version or `region`"),
      beforeId: z.coerce.number().int().min(1).optional().describe("For the next page: the last id of this one"),
      limit: z.coerce.number().int().min(1).max(500).default(50),
    }),
  },
  responses: {
    200: answers(
      z.object({ decisions: z.array(decisionRow), nextBeforeId: z.number().nullable() }),
      "A page; nextBeforeId is null on the last one",
    ),
    ...ERRORS,
  },
});

const shadowRoute = createRoute({
  method: "get",
  path: "/api/v1/shadows/{shadow}/decisions",
  tags: ["decisions"],
  summary: "What a law running in shadow decided, beside what the real one held at that time",
  request: {
    params: z.object({ shadow: z.string() }),
    query: z.object({
      endpoint: z.string().optional().describe("Decisions on the endpoint and on its versions"),
      key: z.string().optional().describe("Exact key: an endpoint, a version or `region`"),
      beforeId: z.coerce.number().int().min(1).optional().describe("For the next page: the last id of this one"),
      limit: z.coerce.number().int().min(1).max(500).default(50),
    }),
  },
  responses: { 200: answers(z.object({ rows: z.array(shadowRow) }), "Newest first"), ...ERRORS },
});

const idParam = z.object({ id: z.coerce.number().int().min(1) });

const getRoute = createRoute({
  method: "get",
  path: "/api/v1/decisions/{id}",
  tags: ["decisions"],
  summary: "One decision with the whole world it was made in",
  request: { params: idParam },
  responses: {
    200: answers(recordedDecision, "The decision"),
    ...ERRORS,
  },
});

const replayRoute = createRoute({
  method: "get",
  path: "/api/v1/decisions/{id}/replay",
  tags: ["decisions"],
  summary: "Make a recorded decision again and compare",
  request: { params: idParam },
  responses: {
    200: answers(replayComparison, "Both, and whether they are equal"),
    ...ERRORS,
  },
});

/** Adds the routes over the decision log. */
export function addDecisionRoutes({ app, operations }: RouteContext): void {
  const { decisions, board } = operations;
  const named = (id: number): DecisionRecord & { readonly id: number } => {
    const found = decisions.get(id);
    if (found !== null) return found;
    const todo = "The log is bounded; `penstock decisions` (GET /api/v1/decisions) lists what it holds.";
    throw new ApiError(404, "PENSTOCK_NO_SUCH_DECISION", `there is no decision ${id}`, todo);
  };

  app.openapi(listRoute, (c) => {
    const query = c.req.valid("query");
    const found = decisionsOf(decisions, board, query);
    const rows = found.map(decisionRowOf);
    return c.json({ decisions: rows, nextBeforeId: rows.length < query.limit ? null : (rows.at(-1)?.id ?? null) }, 200);
  });

  app.openapi(shadowRoute, (c) => {
    const { shadow } = c.req.valid("param");
    const running = operations.shadows.find(({ name }) => name === shadow);
    if (running === undefined) {
      const names = operations.shadows.map(({ name }) => name).join(", ");
      const todo = names === "" ? "Start the region with `penstock up --shadow NAME=FILE`." : `Running are: ${names}.`;
      throw new ApiError(404, "PENSTOCK_NO_SUCH_SHADOW", `no law runs in shadow as ${shadow}`, todo);
    }
    const rows = compareShadow(decisions, board, running, c.req.valid("query"));
    return c.json({ rows }, 200);
  });

  app.openapi(getRoute, (c) => {
    const record = named(c.req.valid("param").id);
    const { world = null, memory = null } = record.replay ?? {};
    const row = decisionRowOf({ ...record, replayable: record.replay !== null });
    return c.json({ ...row, world, memory, atMonoMs: record.atMonoMs }, 200);
  });

  app.openapi(replayRoute, (c) => {
    const record = named(c.req.valid("param").id);
    const again = operations.replay(record);
    if (again === null) {
      const message = `decision ${record.id} of ${record.controller} was not recorded whole`;
      throw new ApiError(409, "PENSTOCK_NOT_REPLAYABLE", message, "Choose one whose `replayable` is true.");
    }
    const was: Plain = { reason: record.reason, inputs: record.inputs, output: record.output };
    const is: Plain = { reason: again.because.reason, inputs: again.because.inputs, output: again.output };
    const equal = canonicalJson(was) === canonicalJson(is);
    const comparison: { equal: boolean; recorded: Plain; replayed: Plain } = { equal, recorded: was, replayed: is };
    return c.json(comparison, 200);
  });
}
