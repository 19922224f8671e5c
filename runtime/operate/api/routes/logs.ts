import { createRoute, z } from "@hono/zod-openapi";
import { endpointOfVersion, versionOfReplica } from "../../../domain/names.ts";
import type { LogLine } from "../../logs/log-book.ts";
import type { RouteContext } from "../app.ts";
import { feed } from "../feed.ts";
import type { RegionOperations } from "../operations.ts";
import { answers, ERRORS } from "../schemas.ts";
import { specNamed } from "../spec-write.ts";

const logLine = z.object({ source: z.string(), atMs: z.number(), line: z.string() }).openapi("LogLine");

const which = z.object({
  endpoint: z.string().optional().describe("All replicas of this endpoint"),
  source: z.string().optional().describe("A replica or version by its id, or `router`, `agent`, `controller`"),
  lines: z.coerce.number().int().min(0).max(10_000).default(100).describe("How many of the newest lines"),
});

const tailRoute = createRoute({
  method: "get",
  path: "/api/v1/logs",
  tags: ["logs"],
  summary: "The newest lines of replicas and of the region's own processes",
  request: { query: which },
  responses: { 200: answers(z.object({ lines: z.array(logLine) }), "The lines, oldest first"), ...ERRORS },
});

const followRoute = createRoute({
  method: "get",
  path: "/api/v1/logs/follow",
  tags: ["logs"],
  summary: "The newest lines, then each further one as it is written",
  request: { query: which },
  responses: {
    200: {
      description: "Server-sent events without end; each one's data is a LogLine",
      content: { "text/event-stream": { schema: z.string() } },
    },
    ...ERRORS,
  },
});

/** Adds the routes over the log book. */
export function addLogRoutes({ app, operations }: RouteContext): void {
  const { logs, clock } = operations;
  app.openapi(tailRoute, (c) => {
    const query = c.req.valid("query");
    return c.json({ lines: logs.tail(sourceFilter(operations, query), query.lines) }, 200);
  });
  app.openapi(followRoute, (c) => {
    const query = c.req.valid("query");
    const wanted = sourceFilter(operations, query);
    const asText = (line: LogLine): string => `data: ${JSON.stringify(line)}\n\n`;
    return feed({
      clock,
      start: (push) => {
        push(logs.tail(wanted, query.lines).map(asText).join(""));
        return logs.follow((line) => {
          if (wanted(line.source)) push(asText(line));
        });
      },
    });
  });
}

function sourceFilter(
  operations: RegionOperations,
  { endpoint, source }: z.infer<typeof which>,
): (source: string) => boolean {
  if (endpoint !== undefined) specNamed(operations, endpoint);
  return (one) =>
    (endpoint === undefined || endpointOfVersion(versionOfReplica(one)) === endpoint) &&
    (source === undefined || one === source || versionOfReplica(one) === source);
}
