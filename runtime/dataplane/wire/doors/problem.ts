import type { Door } from "../../../domain/version.ts";
import { jsonAnswer, type LocalAnswer } from "../http1/answers.ts";

/** Why a request gets no answer from a model; each door gives it its own shape. */
export interface Problem {
  readonly status: number;
  /** Stable, `PENSTOCK_...`. */
  readonly code: `PENSTOCK_${string}`;
  readonly message: string;
  readonly retryAfterSeconds?: number;
  /** Methods for a 405. */
  readonly allow?: string;
}

/** The answer that tells a problem in the door's own error shape. `headers` are whole lines put before. */
export function problemAnswer(door: Door, problem: Problem, headers: string): LocalAnswer {
  const retryAfter = problem.retryAfterSeconds === undefined ? "" : `retry-after: ${problem.retryAfterSeconds}\r\n`;
  const allow = problem.allow === undefined ? "" : `allow: ${problem.allow}\r\n`;
  const challenge = problem.status === 401 ? "www-authenticate: Bearer\r\n" : "";
  return jsonAnswer(problem.status, problemBody(door, problem), headers + retryAfter + allow + challenge);
}

/** The error object of a door, also the data of an error event that ends a broken stream. */
export function problemBody(door: Door, problem: Problem): unknown {
  const { message, code, status } = problem;
  switch (door) {
    case "openai":
      return {
        error: {
          message,
          type: openaiType(status),
          param: code === "PENSTOCK_UNKNOWN_ENDPOINT" ? "model" : null,
          code,
        },
      };
    case "mlflow":
      return { error_code: MLFLOW_CODES[status] ?? (status >= 500 ? "INTERNAL_ERROR" : "BAD_REQUEST"), message };
    case "kserve":
      return { error: message };
    case "raw":
      return { error: { code, message } };
  }
}

function openaiType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

/** Error codes that MLflow's own servers and Databricks' endpoints use for these statuses. */
const MLFLOW_CODES: Readonly<Record<number, string>> = {
  400: "BAD_REQUEST",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "RESOURCE_DOES_NOT_EXIST",
  429: "REQUEST_LIMIT_EXCEEDED",
  503: "TEMPORARILY_UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
