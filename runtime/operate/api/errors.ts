import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { mistakesIn } from "../../contract/spec/mistakes.ts";
import { UserError } from "../../core/errors.ts";

/** One problem of a request's body or query: where, and what is wrong with it. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** A refusal of the API: an HTTP status and a body that says what is wrong, where, and what to do. */
export class ApiError extends UserError {
  readonly status: ContentfulStatusCode;
  readonly details: readonly Problem[];

  constructor(
    status: ContentfulStatusCode,
    code: `PENSTOCK_${string}`,
    message: string,
    todo: string,
    details: readonly Problem[] = [],
  ) {
    super(code, message, todo);
    this.status = status;
    this.details = details;
  }
}

/** Shape of every error the API answers. */
export const errorBody = z
  .object({
    code: z.string().describe("Stable name, PENSTOCK_..."),
    message: z.string(),
    todo: z.string().describe("The next step, in plain words"),
    details: z.array(z.object({ path: z.string(), message: z.string() })),
  })
  .openapi("Error");

/** Answers an error. UserErrors of the region (its state can't be written) are 503; anything else is a bug and says nothing of itself. */
export function answerError(error: unknown, c: Context): Response {
  if (error instanceof HTTPException && error.status === 400) {
    const [message, todo] = ["the body is not JSON", "Send a JSON object, in UTF-8."];
    return c.json({ code: "PENSTOCK_BAD_JSON", message, todo, details: [] }, 400);
  }
  if (error instanceof ApiError) {
    const { code, message, todo, details, status } = error;
    return c.json({ code, message, todo, details }, status);
  }
  if (error instanceof UserError) {
    const { code, message, todo } = error;
    return c.json({ code, message, todo, details: [] }, 503);
  }
  const todo = "Look at the controller's log for what happened.";
  return c.json({ code: "PENSTOCK_INTERNAL", message: "the controller failed at this", todo, details: [] }, 500);
}

/** A 422 with every problem that zod found in `input`, each with its path. */
export function invalid(error: z.ZodError, input: unknown, what: string): ApiError {
  const details = mistakesIn(error.issues, input, what).map(({ path, message }) => ({ path, message }));
  const count = details.length === 1 ? "1 problem" : `${details.length} problems`;
  return new ApiError(
    422,
    "PENSTOCK_INVALID",
    `${count} in the ${what}`,
    "Correct the fields that are named.",
    details,
  );
}
