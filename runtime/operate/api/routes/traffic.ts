import { createRoute } from "@hono/zod-openapi";
import type { EndpointSpec, TrafficPolicy } from "../../../domain/endpoint.ts";
import type { Rollout } from "../../../domain/rollout.ts";
import { rollbackTarget } from "../../views/rollback-target.ts";
import { valueOrNull } from "../../views/value-or-null.ts";
import type { RouteContext } from "../app.ts";
import { ApiError } from "../errors.ts";
import {
  answers,
  concurrencyInput,
  ERRORS,
  endpointView,
  nameParam,
  rollbackInput,
  takes,
  trafficInput,
} from "../schemas.ts";
import { changeSpec } from "../spec-write.ts";

const trafficRoute = createRoute({
  method: "put",
  path: "/api/v1/endpoints/{name}/traffic",
  tags: ["traffic"],
  summary: "Split traffic over versions, or follow the newest one",
  request: { params: nameParam, body: takes(trafficInput) },
  responses: { 200: answers(endpointView, "Accepted; traffic moves once every version of it is ready"), ...ERRORS },
});

const rollbackRoute = createRoute({
  method: "post",
  path: "/api/v1/endpoints/{name}/rollback",
  tags: ["traffic"],
  summary: "Send all traffic to the version before, or to a named one",
  request: { params: nameParam, body: takes(rollbackInput) },
  responses: { 200: answers(endpointView, "Accepted; traffic moves once that version is ready"), ...ERRORS },
});

const concurrencyRoute = createRoute({
  method: "put",
  path: "/api/v1/endpoints/{name}/concurrency",
  tags: ["traffic"],
  summary: "Set the bounds of requests in flight; no replica restarts",
  request: { params: nameParam, body: takes(concurrencyInput) },
  responses: { 200: answers(endpointView, "Set"), ...ERRORS },
});

/** Adds the routes that move traffic and bounds: none of them makes a version or restarts a replica. */
export function addTrafficRoutes(context: RouteContext): void {
  const { app, operations } = context;
  const rolloutOf = (name: string): Rollout | null => valueOrNull(operations.board.get("rollout", name));

  app.openapi(trafficRoute, (c) => {
    const { name } = c.req.valid("param");
    const traffic = c.req.valid("json");
    const change = () => {
      checkVersions(traffic, rolloutOf(name));
      return { traffic };
    };
    return c.json(changeSpec(context, name, change), 200);
  });

  app.openapi(rollbackRoute, (c) => {
    const { name } = c.req.valid("param");
    const { version } = c.req.valid("json");
    const change = (): Partial<EndpointSpec> => {
      const target = version ?? previousVersion(name, rolloutOf(name));
      const traffic: TrafficPolicy = { kind: "split", parts: [{ version: target, percent: 100 }] };
      checkVersions(traffic, rolloutOf(name));
      return { traffic };
    };
    return c.json(changeSpec(context, name, change), 200);
  });

  app.openapi(concurrencyRoute, (c) => {
    const given = c.req.valid("json");
    const change = (spec: EndpointSpec) => {
      const concurrency = { min: given.min ?? spec.concurrency.min, max: given.max ?? spec.concurrency.max };
      if (concurrency.min <= concurrency.max) return { concurrency };
      const details = [{ path: "min", message: `must not be above max, ${concurrency.max}` }];
      throw new ApiError(422, "PENSTOCK_INVALID", "the bounds cross", "Give a min that is not above max.", details);
    };
    return c.json(changeSpec(context, c.req.valid("param").name, change), 200);
  });
}

function previousVersion(name: string, rollout: Rollout | null): string {
  const target = rollout === null ? null : rollbackTarget(rollout);
  if (target !== null) return target.version.id;
  const message = `${name} has no version to go back to`;
  throw new ApiError(
    409,
    "PENSTOCK_NOTHING_TO_ROLL_BACK_TO",
    message,
    "Only versions that have served are kept: deploy another one first.",
  );
}

/** Every version of a split must exist and be able to serve. */
function checkVersions(traffic: TrafficPolicy, rollout: Rollout | null): void {
  if (traffic.kind !== "split") return;
  const versions = rollout?.versions ?? [];
  const able = versions.filter(({ phase }) => phase !== "failed").map(({ version }) => version.id);
  const details = traffic.parts.flatMap(({ version }, index) =>
    able.includes(version)
      ? []
      : [{ path: `parts[${index}].version`, message: `${version} is not a version that can serve` }],
  );
  if (details.length === 0) return;
  const todo = able.length === 0 ? "No version is ready yet." : `Versions that can serve: ${able.join(", ")}.`;
  throw new ApiError(422, "PENSTOCK_NO_SUCH_VERSION", "the split names versions that can't serve", todo, details);
}
