import { createRoute, z } from "@hono/zod-openapi";
import type { FactName } from "../../../domain/board.ts";
import { type EndpointName, endpointOfVersion, versionOfReplica } from "../../../domain/names.ts";
import { viewEndpoint } from "../../views/endpoint-view.ts";
import type { RouteContext } from "../app.ts";
import { feed } from "../feed.ts";
import { ERRORS } from "../schemas.ts";
import { specOrNull } from "../spec-write.ts";

/** Changes are gathered for this long: five pictures a second are smooth, and a storm of facts costs no more than that. */
const GATHER_MS = 200;

const eventsRoute = createRoute({
  method: "get",
  path: "/api/v1/events",
  tags: ["events"],
  summary: "Server-sent events: each endpoint's present view at once, then again whenever something of it changes",
  request: { query: z.object({ endpoint: z.string().optional().describe("Only this endpoint") }) },
  responses: {
    200: {
      description:
        "`event: endpoint` with an Endpoint as data; `event: removed` with {name}, also when the one asked for is not there",
      content: { "text/event-stream": { schema: z.string() } },
    },
    ...ERRORS,
  },
});

/** Adds the stream of changes. It is level-triggered: whoever misses an event is right again with the next. */
export function addEventRoutes(context: RouteContext): void {
  context.app.openapi(eventsRoute, (c) => {
    const only = c.req.valid("query").endpoint;
    return feed({
      clock: context.operations.clock,
      start: (push) => pushChanges(context, only, push),
    });
  });
}

function pushChanges(
  { operations, series }: RouteContext,
  only: EndpointName | undefined,
  push: (text: string) => void,
): () => void {
  const { board, clock } = operations;
  // Who asks for one endpoint takes it to be there: that it is not, or no more, is the first thing to say.
  const sent = new Map<EndpointName, string>(only === undefined ? [] : [[only, ""]]);
  const dirty = new Set<EndpointName>(only === undefined ? board.keys("spec") : [only]);
  let cancel: (() => void) | null = null;

  const flush = (): void => {
    cancel = null;
    for (const name of dirty) {
      const spec = specOrNull(operations, name);
      const data = JSON.stringify(spec === null ? { name } : viewEndpoint(board, spec, series, clock.now()));
      if (sent.get(name) === data || (spec === null && !sent.has(name))) continue;
      push(`event: ${spec === null ? "removed" : "endpoint"}\ndata: ${data}\n\n`);
      if (spec === null) sent.delete(name);
      else sent.set(name, data);
    }
    dirty.clear();
  };

  flush();
  const unwatch = operations.watch((fact, key) => {
    for (const name of endpointsTouched(fact, key, board.keys("spec"))) {
      if (only === undefined || only === name) dirty.add(name);
    }
    if (dirty.size > 0) cancel ??= clock.after(GATHER_MS, flush);
  });
  return () => {
    unwatch();
    cancel?.();
  };
}

/** The endpoints whose view a change of this fact may change. */
function endpointsTouched(fact: FactName, key: string, all: readonly EndpointName[]): readonly EndpointName[] {
  switch (fact) {
    case "spec":
    case "prepared":
    case "rollout":
    case "route":
      return [key];
    case "wanted":
    case "granted":
    case "replicaSet":
      return [endpointOfVersion(key)];
    case "replica":
    case "hosted":
      return [endpointOfVersion(versionOfReplica(key))];
    case "routerLoad":
      return all;
    case "snapshot":
    case "machine":
    case "loadTime":
    case "keys":
      return [];
  }
}
