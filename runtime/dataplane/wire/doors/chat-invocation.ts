import type { SnapshotEndpoint } from "../../../domain/snapshot.ts";
import { findMember, type ModelField, soughtNames } from "./model-field.ts";
import type { EndpointCall } from "./route.ts";

/** The member that makes a body an OpenAI call, and the path of that call. */
const PATH_OF_MEMBER: ReadonlyMap<string, string> = new Map([
  ["messages", "/v1/chat/completions"],
  ["prompt", "/v1/completions"],
  ["input", "/v1/embeddings"],
]);

const SOUGHT = soughtNames(...PATH_OF_MEMBER.keys());

/**
 * Whether a call by MLflow's path goes to an endpoint that speaks OpenAI alone. MLflow's and Databricks' clients post
 * chats, completions and embeddings there; which of them is meant stands in the body.
 */
export function isChatInvocation(endpoint: SnapshotEndpoint, call: EndpointCall): boolean {
  return call.door === "mlflow" && !endpoint.doors.includes("mlflow") && endpoint.doors.includes("openai");
}

/** The path of the OpenAI call that a body is. */
export function findChatPath(
  bytes: Buffer,
): { readonly kind: "found"; readonly path: string } | Exclude<ModelField, { kind: "found" }> {
  const member = findMember(bytes, SOUGHT);
  return member.kind === "found" ? { kind: "found", path: PATH_OF_MEMBER.get(member.name)! } : member;
}
