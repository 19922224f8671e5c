import { REGION_PATHS } from "../../../contract/names.ts";
import type { EndpointName } from "../../../domain/names.ts";
import type { Door } from "../../../domain/version.ts";

/** What a request's target asks for. */
export type Route =
  | { readonly kind: "health" }
  /** The region's own surface (API, console, metrics): the controller's business. */
  | { readonly kind: "region" }
  | EndpointCall
  | LocalQuery
  | { readonly kind: "unknown"; readonly door: Door };

/** A call of an endpoint. `endpoint` null: the body's `model` (OpenAI) or a header names it, as `named` says. */
export interface EndpointCall {
  readonly kind: "call";
  readonly door: Door;
  readonly named: "path" | "body" | "header";
  readonly endpoint: EndpointName | null;
  /** What the replica is asked for, query included. */
  readonly path: string;
  /** Methods that the path answers to; null = any. */
  readonly method: "POST" | "GET" | null;
}

/** A question about endpoints that the router answers from its snapshot. */
export interface LocalQuery {
  readonly kind: "local";
  readonly door: Door;
  readonly about:
    | "openai-models"
    | "serving-endpoints"
    | "deployment-endpoints"
    | "server-live"
    | "server-ready"
    | "server-metadata"
    | "model-ready"
    | "repository-index";
  readonly endpoint: EndpointName | null;
}

const HEALTH: Route = { kind: "health" };
const REGION: Route = { kind: "region" };
const HEALTH_PATHS = new Set(["/healthz", "/health", "/ping"]);

/** Reads a request target (`/path?query`). Pure; makes no claim that the endpoint exists. */
export function routeOf(target: string): Route {
  const queryAt = target.indexOf("?");
  const path = queryAt < 0 ? target : target.slice(0, queryAt);
  if (path.startsWith("/v1/")) return openaiRoute(path, target);
  if (path.startsWith("/v2")) return kserveRoute(path, target);
  if (path.startsWith("/serving-endpoints/")) return servingEndpointRoute(path);
  if (path === "/invocations") {
    return { kind: "call", door: "mlflow", named: "header", endpoint: null, path: target, method: "POST" };
  }
  if (path.startsWith("/endpoints/")) return rawRoute(target, path.length);
  if (HEALTH_PATHS.has(path)) return HEALTH;
  if (path.startsWith("/api/2.0/")) return deploymentsRoute(path) ?? REGION;
  if (path === "/" || REGION_PATHS.some((prefix) => isUnder(path, prefix))) return REGION;
  return { kind: "unknown", door: "raw" };
}

function isUnder(path: string, prefix: string): boolean {
  return (
    path.startsWith(prefix) && (prefix.endsWith("/") || path.length === prefix.length || path[prefix.length] === "/")
  );
}

const OPENAI_CALLS = new Set(["/v1/chat/completions", "/v1/completions", "/v1/embeddings"]);

function openaiRoute(path: string, target: string): Route {
  if (OPENAI_CALLS.has(path)) {
    return { kind: "call", door: "openai", named: "body", endpoint: null, path: target, method: "POST" };
  }
  if (path === "/v1/models") return { kind: "local", door: "openai", about: "openai-models", endpoint: null };
  if (path.startsWith("/v1/models/")) {
    return { kind: "local", door: "openai", about: "openai-models", endpoint: path.slice("/v1/models/".length) };
  }
  return { kind: "unknown", door: "openai" };
}

const KSERVE_LOCAL: Readonly<Record<string, LocalQuery["about"]>> = {
  "/v2": "server-metadata",
  "/v2/": "server-metadata",
  "/v2/health/live": "server-live",
  "/v2/health/ready": "server-ready",
  "/v2/repository/index": "repository-index",
};

function kserveRoute(path: string, target: string): Route {
  const about = KSERVE_LOCAL[path];
  if (about !== undefined) return { kind: "local", door: "kserve", about, endpoint: null };
  const [, , models, endpoint, ...rest] = path.split("/");
  if (models !== "models" || endpoint === undefined || endpoint === "") return { kind: "unknown", door: "kserve" };
  // /v2/models/NAME[/versions/V][/infer|/ready|/config|/stats]
  const verb = rest[0] === "versions" ? rest[2] : rest[0];
  if (verb === "ready") return { kind: "local", door: "kserve", about: "model-ready", endpoint };
  return {
    kind: "call",
    door: "kserve",
    named: "path",
    endpoint,
    path: target,
    method: verb === "infer" ? "POST" : "GET",
  };
}

function servingEndpointRoute(path: string): Route {
  const nameStart = "/serving-endpoints/".length;
  const nameEnd = path.indexOf("/", nameStart);
  if (nameEnd <= nameStart || path.length - nameEnd !== "/invocations".length || !path.endsWith("/invocations")) {
    return { kind: "unknown", door: "mlflow" };
  }
  const endpoint = path.slice(nameStart, nameEnd);
  return { kind: "call", door: "mlflow", named: "path", endpoint, path: "/invocations", method: "POST" };
}

/** `/endpoints/NAME/any/path`. Its `/invocations` is also where MLflow's deployments client posts, so it opens that door. */
function rawRoute(target: string, pathLength: number): Route {
  const nameEnd = target.indexOf("/", "/endpoints/".length);
  if (nameEnd < 0 || nameEnd >= pathLength) return { kind: "unknown", door: "raw" };
  const endpoint = target.slice("/endpoints/".length, nameEnd);
  const path = target.slice(nameEnd);
  // A replica behind a base path must not be left by dot segments, encoded or not.
  if (/\/(?:\.|%2e){1,2}(?:[/?]|$)/i.test(path)) return { kind: "unknown", door: "raw" };
  const isInvocation = target.slice(nameEnd, pathLength) === "/invocations";
  return {
    kind: "call",
    door: isInvocation ? "mlflow" : "raw",
    named: "path",
    endpoint,
    path,
    method: isInvocation ? "POST" : null,
  };
}

/** Lists and single endpoints as the two deployments clients of MLflow ask for them; null for other paths of the API. */
function deploymentsRoute(path: string): Route | null {
  const [, , , collection, endpoint, ...rest] = path.split("/");
  if (rest.length > 0 || (collection !== "serving-endpoints" && collection !== "endpoints")) return null;
  const about = collection === "endpoints" ? "deployment-endpoints" : "serving-endpoints";
  return {
    kind: "local",
    door: "mlflow",
    about,
    endpoint: endpoint === undefined || endpoint === "" ? null : endpoint,
  };
}
