import type { ServingAnswer } from "../contract.ts";

/** A refusal in OpenAI's error shape. */
export class OpenAiError extends Error {
  override readonly name = "OpenAiError";
  readonly status: number;
  /** The request's field at fault, or null. */
  readonly param: string | null;
  readonly code: string | null;

  constructor(status: number, message: string, param: string | null = null, code: string | null = null) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
  }
}

/** The answer that tells of `error`. */
export function openAiErrorAnswer(error: OpenAiError): ServingAnswer {
  return {
    status: error.status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(errorBody(error)),
  };
}

/** The error object alone, as it stands in a stream that has begun. */
export function errorBody({ status, message, param, code }: OpenAiError): object {
  return { error: { message, type: status >= 500 ? "server_error" : "invalid_request_error", param, code } };
}
