import { readServerSentEvents, type ServerSentEvent } from "../../../../core/server-sent-events.ts";
import type { Problem } from "../../../api/errors.ts";

/** A region answers its API in milliseconds; this long a silence means that it hangs. */
const ANSWER_TIMEOUT_MS = 15_000;
/** The feeds send a sign of life each 10 s; two missed ones mean that the connection is dead. */
const SILENCE_MS = 25_000;

/** A refusal of the API: what is wrong and what to do, in its own words. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;
  readonly code: string;
  readonly todo: string;
  readonly details: readonly Problem[];

  constructor(status: number, body: { code: string; message: string; todo: string; details: readonly Problem[] }) {
    super(body.message);
    this.status = status;
    this.code = body.code;
    this.todo = body.todo;
    this.details = body.details;
  }

  /** An admin key is missing, unknown or not enough. */
  get asksForKey(): boolean {
    return this.code.startsWith("PENSTOCK_KEY_");
  }
}

/** Nothing that speaks the API answers: the controller (or the whole region) is away. */
class Away extends Error {
  override readonly name = "Away";
}

/** Speaks to the region's API with the admin key that `key` gives. Errors: Refused, Away. */
export class ApiClient {
  readonly #key: () => string | null;

  constructor(key: () => string | null) {
    this.#key = key;
  }

  async get<T>(path: string): Promise<T> {
    return (await this.#send("GET", `/api/v1${path}`)).json() as Promise<T>;
  }

  async change(method: "PUT" | "POST" | "DELETE", path: string, body?: unknown): Promise<void> {
    await this.#send(method, `/api/v1${path}`, { body });
  }

  /** A document outside the control API, such as a model's own metadata. */
  async document<T>(path: string): Promise<T> {
    return (await this.#send("GET", path)).json() as Promise<T>;
  }

  /** A feed's events until it ends, falls silent, or `signal` ends it. */
  async *events(path: string, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    const silence = new AbortController();
    const response = await this.#send("GET", `/api/v1${path}`, { signal: AbortSignal.any([signal, silence.signal]) });
    if (response.body === null) return;
    try {
      yield* readServerSentEvents(guarded(response.body, silence));
    } catch (error) {
      throw new Away(silence.signal.aborted ? "it has fallen silent" : "the connection broke", { cause: error });
    }
  }

  async #send(method: string, path: string, options: { body?: unknown; signal?: AbortSignal } = {}): Promise<Response> {
    const { body, signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS) } = options;
    const key = this.#key();
    let response: Response;
    try {
      response = await fetch(path, {
        method,
        signal,
        headers: {
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      const isSlow = error instanceof DOMException && error.name === "TimeoutError";
      throw new Away(isSlow ? `no answer within ${ANSWER_TIMEOUT_MS / 1_000} s` : "no connection", { cause: error });
    }
    if (!response.ok) throw await refusalOf(response);
    return response;
  }
}

/** Passes bytes on and aborts `silence` when none come for too long. */
async function* guarded(body: ReadableStream<Uint8Array>, silence: AbortController): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      yield value;
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => {});
  }
}

/** The API's own error, or Away where something else answers for it (the router, while the controller is away). */
async function refusalOf(response: Response): Promise<Refused | Away> {
  const body: unknown = await response.json().catch(() => null);
  if (isErrorBody(body)) return new Refused(response.status, body);
  return new Away(`answer ${response.status}`);
}

function isErrorBody(body: unknown): body is ConstructorParameters<typeof Refused>[1] {
  return (
    typeof body === "object" && body !== null && "code" in body && "details" in body && Array.isArray(body.details)
  );
}
