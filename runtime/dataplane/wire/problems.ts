import type { SnapshotEndpoint } from "../../domain/snapshot.ts";
import type { Door } from "../../domain/version.ts";
import type { Refusal } from "../flow/lease.ts";
import type { Identity } from "./auth.ts";
import { isChatInvocation } from "./doors/chat-invocation.ts";
import { notServable } from "./doors/local.ts";
import type { Problem } from "./doors/problem.ts";
import type { EndpointCall } from "./doors/route.ts";
import type { RequestHead } from "./http1/request-head.ts";

/** What can be seen to be wrong from the head alone, or null. */
export function headProblem(head: RequestHead): Problem | null {
  if (head.method === "CONNECT" || head.method === "TRACE") {
    return {
      status: 405,
      code: "PENSTOCK_METHOD_NOT_ALLOWED",
      message: `${head.method} is not supported`,
      allow: "GET, POST",
    };
  }
  if (head.expectUnknown) {
    return { status: 417, code: "PENSTOCK_EXPECTATION_FAILED", message: "only `Expect: 100-continue` is understood" };
  }
  // Java's client offers h2c with each request and goes on without it; a WebSocket can't go on.
  if (head.upgrade !== null && !/^h2c$/i.test(head.upgrade)) {
    return {
      status: 501,
      code: "PENSTOCK_UPGRADE_REFUSED",
      message: `upgrade to "${head.upgrade.slice(0, 40)}" is not supported; stream answers over plain HTTP/1.1`,
    };
  }
  return null;
}

/** The 401 or 403 of an identity, or null where it may go on. `endpoint` null: not known yet. */
export function identityProblem(identity: Identity, endpoint: string | null): Problem | null {
  if (identity.kind === "missing") {
    return {
      status: 401,
      code: "PENSTOCK_KEY_MISSING",
      message: "an API key is required: send `Authorization: Bearer KEY` or `x-api-key: KEY`",
    };
  }
  if (identity.kind === "unknown") {
    return { status: 401, code: "PENSTOCK_KEY_UNKNOWN", message: "this API key is not known to the region" };
  }
  if (identity.kind === "key" && endpoint !== null) {
    const { key } = identity;
    if (key.endpoints !== null && !key.endpoints.includes(endpoint)) {
      return {
        status: 403,
        code: "PENSTOCK_KEY_NOT_ALLOWED",
        message: `the key "${key.name}" does not open endpoint "${endpoint}"`,
      };
    }
  }
  return null;
}

/** What is wrong with calling this endpoint in this way, or null. */
export function callProblem(endpoint: SnapshotEndpoint, call: EndpointCall, head: RequestHead): Problem | null {
  // Before a first version exists nobody knows which doors it will have.
  if (endpoint.doors.length === 0) return notServable(endpoint);
  if (!endpoint.doors.includes(call.door) && !isChatInvocation(endpoint, call)) return wrongDoor(endpoint, call.door);
  if (call.method !== null && head.method !== call.method && !(call.method === "GET" && head.method === "HEAD")) {
    return wrongMethod(call, head.method);
  }
  const { framing } = head;
  if (framing.kind === "length" && framing.bytes > endpoint.maxBodyBytes) return bodyTooLarge(endpoint);
  if (endpoint.problem !== null) return notServable(endpoint);
  return null;
}

/** The 405 of a path that wants another method. */
function wrongMethod(call: EndpointCall, method: string): Problem {
  const allow = call.method ?? "";
  return {
    status: 405,
    code: "PENSTOCK_METHOD_NOT_ALLOWED",
    message: `${method} is not allowed here; use ${allow}`,
    allow,
  };
}

/** The 413 of a body over the endpoint's limit. */
export function bodyTooLarge(endpoint: SnapshotEndpoint): Problem {
  return {
    status: 413,
    code: "PENSTOCK_BODY_TOO_LARGE",
    message: `the body is over ${endpoint.maxBodyBytes} bytes, the limit of endpoint "${endpoint.name}" (maxBodyBytes)`,
  };
}

const EXAMPLES: Readonly<Record<Door, (name: string) => string>> = {
  openai: (name) => `POST /v1/chat/completions with "model": "${name}"`,
  mlflow: (name) => `POST /serving-endpoints/${name}/invocations`,
  kserve: (name) => `POST /v2/models/${name}/infer`,
  raw: (name) => `/endpoints/${name}/...`,
};

function wrongDoor(endpoint: SnapshotEndpoint, door: Door): Problem {
  const doors = endpoint.doors.map((open) => EXAMPLES[open](endpoint.name)).join(" or ");
  return {
    status: 400,
    code: "PENSTOCK_WRONG_DOOR",
    message: `endpoint "${endpoint.name}" does not answer this API (${door}); call it with ${doors}`,
  };
}

/** What a refusal of the flow tables means for a client. */
export function refusalProblem(refusal: Refusal, endpoint: SnapshotEndpoint): Problem {
  if (refusal === "queue-full") {
    return {
      status: 503,
      code: "PENSTOCK_QUEUE_FULL",
      message: `endpoint "${endpoint.name}" is at its limit and its queue is full (${endpoint.queue.maxRequests} requests or ${endpoint.queue.maxBytes} bytes)`,
      retryAfterSeconds: 1,
    };
  }
  return notServable(endpoint);
}

/** A held request whose time is up. */
export function waitedTooLong(endpoint: SnapshotEndpoint): Problem {
  return {
    status: 503,
    code: "PENSTOCK_NO_CAPACITY",
    message: `no replica of endpoint "${endpoint.name}" had room within ${endpoint.queue.maxWaitMs} ms`,
    retryAfterSeconds: 5,
  };
}

/** How a request was lost on its way to or from a replica. */
export type Loss = "unreachable" | "broken" | "no-first-byte" | "stalled" | "too-long" | "cut";

/** What a lost request means for a client. */
export function lossProblem(loss: Loss, endpoint: SnapshotEndpoint): Problem {
  const { timeouts, name } = endpoint;
  switch (loss) {
    case "unreachable":
      return problem(503, "PENSTOCK_REPLICA_UNREACHABLE", `no replica of "${name}" could be reached`, 1);
    case "broken":
      return problem(502, "PENSTOCK_REPLICA_FAILED", `the replica of "${name}" ended before it answered`);
    case "no-first-byte":
      return problem(504, "PENSTOCK_FIRST_BYTE_TIMEOUT", `"${name}" began no answer within ${timeouts.firstByteMs} ms`);
    case "stalled":
      return problem(504, "PENSTOCK_ANSWER_STALLED", `the answer of "${name}" stood still for ${timeouts.stallMs} ms`);
    case "too-long":
      return problem(504, "PENSTOCK_REQUEST_TIMEOUT", `the request to "${name}" took over ${timeouts.requestMs} ms`);
    case "cut":
      return problem(502, "PENSTOCK_ANSWER_CUT", `the replica of "${name}" ended in the middle of its answer`);
  }
}

function problem(status: number, code: Problem["code"], message: string, retryAfterSeconds?: number): Problem {
  return retryAfterSeconds === undefined ? { status, code, message } : { status, code, message, retryAfterSeconds };
}
