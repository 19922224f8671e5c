import type { EndpointSpec } from "../../domain/endpoint.ts";
import type { EndpointName } from "../../domain/names.ts";
import { type EndpointView, viewEndpoint } from "../views/endpoint-view.ts";
import { valueOrNull } from "../views/value-or-null.ts";
import type { RouteContext } from "./app.ts";
import { ApiError } from "./errors.ts";
import type { RegionOperations } from "./operations.ts";

/** The spec of an endpoint, or null where there is none. */
export function specOrNull(operations: RegionOperations, name: EndpointName): EndpointSpec | null {
  return valueOrNull(operations.board.get("spec", name));
}

/** The spec of an endpoint. Errors: 404, naming the endpoints there are. */
export function specNamed(operations: RegionOperations, name: EndpointName): EndpointSpec {
  const spec = specOrNull(operations, name);
  if (spec !== null) return spec;
  const names = operations.board.keys("spec");
  const todo =
    names.length === 0
      ? "Deploy it first: penstock deploy PATH."
      : `There ${names.length === 1 ? "is" : "are"}: ${names.slice(0, 20).join(", ")}${names.length > 20 ? ", ..." : ""}.`;
  throw new ApiError(404, "PENSTOCK_NO_SUCH_ENDPOINT", `there is no endpoint ${name}`, todo);
}

/** The view of an endpoint. Errors: 404. */
export function viewNamed({ operations, series }: RouteContext, name: EndpointName): EndpointView {
  const spec = specNamed(operations, name);
  return viewEndpoint(operations.board, spec, series, operations.clock.now());
}

/** Refuses to change an endpoint of the region file. Errors: 409, naming the file. */
export function checkNotOfFile(operations: RegionOperations, spec: EndpointSpec): void {
  if (spec.origin !== "file") return;
  const file = operations.info.regionFile;
  throw new ApiError(
    409,
    "PENSTOCK_OWNED_BY_FILE",
    `the endpoint ${spec.name} belongs to ${file} and is changed there`,
    `Edit ${file} and start the region again, or deploy under another name.`,
  );
}

/** The conditions under which a change is to be made (RFC 9110, 13.1), with generations as entity tags. */
export interface Conditions {
  readonly "if-match"?: string | undefined;
  readonly "if-none-match"?: string | undefined;
}

/**
 * Refuses a change whose conditions the present spec does not meet. `*` stands for any spec at all: If-Match asks for one,
 * If-None-Match that there be none. Errors: 412.
 */
export function checkConditions(conditions: Conditions, spec: EndpointSpec | null): void {
  const { "if-match": match, "if-none-match": noneMatch } = conditions;
  const met = (match === undefined || names(match, spec)) && (noneMatch === undefined || !names(noneMatch, spec));
  if (met) return;
  const present = spec === null ? "there is no such endpoint" : `the endpoint is at generation ${spec.generation}`;
  const asked = [match && `If-Match: ${match}`, noneMatch && `If-None-Match: ${noneMatch}`].filter(Boolean).join(", ");
  const message = `${present}, the change was made for ${asked}`;
  throw new ApiError(412, "PENSTOCK_GENERATION_CONFLICT", message, "Read it again and repeat the change.");
}

/** Whether a list of entity tags names the spec; a weak one (W/) never does: it promises less than a change needs. */
function names(tags: string, spec: EndpointSpec | null): boolean {
  if (spec === null) return false;
  const generation = String(spec.generation);
  return tags.split(",").some((tag) => ["*", generation, `"${generation}"`].includes(tag.trim()));
}

/** Writes a change of fields that need no new version, and returns the view after it. Errors: 404, 409. */
export function changeSpec(
  context: RouteContext,
  name: EndpointName,
  change: (spec: EndpointSpec) => Partial<EndpointSpec>,
): EndpointView {
  const { operations } = context;
  const spec = specNamed(operations, name);
  checkNotOfFile(operations, spec);
  operations.applySpec({ ...spec, ...change(spec), generation: spec.generation + 1 });
  return viewNamed(context, name);
}
