import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ADDRESS_FILE } from "../runtime/contract/names.ts";
import { readServerSentEvents, type ServerSentEvent } from "../runtime/core/server-sent-events.ts";
import { CliError, EXIT } from "./exit.ts";

const DEFAULT_URL = "http://127.0.0.1:8080";
/** A region answers its API in milliseconds; this long a silence means that it hangs. */
const ANSWER_TIMEOUT_MS = 30_000;

/** How to reach a region: from flags, the environment, or what `penstock up` noted in its data folder. */
export interface RegionAddress {
  readonly url: string;
  readonly key: string | null;
}

/** Finds the region: --url, PENSTOCK_URL, the note of `penstock up` in the data folder, the default address. */
export function findRegion(
  flags: { readonly url?: string | undefined; readonly key?: string | undefined },
  env: Readonly<Record<string, string | undefined>>,
): RegionAddress {
  const url = flags.url ?? env.PENSTOCK_URL ?? notedUrl(env.PENSTOCK_DATA_DIR ?? join(homedir(), ".penstock", "local"));
  return { url: (url ?? DEFAULT_URL).replace(/\/+$/, ""), key: flags.key ?? env.PENSTOCK_KEY ?? null };
}

function notedUrl(dataDir: string): string | null {
  try {
    const noted: unknown = JSON.parse(readFileSync(join(dataDir, ADDRESS_FILE), "utf8"));
    const url = (noted as { url?: unknown }).url;
    return typeof url === "string" ? url : null;
  } catch {
    return null;
  }
}

/** The control API of one region. Errors: CliError with the region's own code, message and todo; `unreachable` when none answers. */
export class RegionClient {
  readonly #address: RegionAddress;

  constructor(address: RegionAddress) {
    this.#address = address;
  }

  get url(): string {
    return this.#address.url;
  }

  get headers(): Record<string, string> {
    const { key } = this.#address;
    return key === null ? {} : { authorization: `Bearer ${key}` };
  }

  async get<T>(path: string): Promise<T> {
    return (await this.#send("GET", path)).json() as Promise<T>;
  }

  /** The same, or null where there is nothing of that name. */
  async find<T>(path: string): Promise<T | null> {
    try {
      return await this.get<T>(path);
    } catch (error) {
      if (error instanceof CliError && error.code === "PENSTOCK_NO_SUCH_ENDPOINT") return null;
      throw error;
    }
  }

  /** A document outside the control API, such as a model's own metadata; null where it is not answered, or not as JSON. */
  async document<T>(path: string): Promise<T | null> {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const response = await fetch(`${this.url}${path}`, { headers: this.headers, signal }).catch(() => null);
    return response?.ok ? ((await response.json().catch(() => null)) as T | null) : null;
  }

  async send<T>(method: "PUT" | "POST", path: string, body: unknown, headers: Record<string, string> = {}): Promise<T> {
    return (await this.#send(method, path, { body, headers })).json() as Promise<T>;
  }

  async delete(path: string): Promise<void> {
    await this.#send("DELETE", path);
  }

  /** A stream of server-sent events; ends when the server or `signal` ends it. */
  async *events(path: string, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    const response = await this.#send("GET", path, { signal });
    if (response.body !== null) yield* readServerSentEvents(response.body);
  }

  async #send(
    method: string,
    path: string,
    options: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
  ): Promise<Response> {
    const { body, headers = {}, signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS) } = options;
    let response: Response;
    try {
      response = await fetch(`${this.url}/api/v1${path}`, {
        method,
        signal,
        headers: { ...this.headers, ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw unreachable(this.url, error);
    }
    if (!response.ok) throw await refusal(response, this.url);
    return response;
  }
}

function unreachable(url: string, error: unknown): CliError {
  const cause = error instanceof Error ? error.cause : undefined;
  const why = cause instanceof Error ? cause.message : error instanceof Error ? error.message : String(error);
  return new CliError(
    "PENSTOCK_UNREACHABLE",
    `no region answers at ${url} (${why || "no connection"})`,
    "Start one with `penstock up`, or name another with --url or PENSTOCK_URL (of one with a --data-dir: PENSTOCK_DATA_DIR).",
    EXIT.unreachable,
  );
}

interface RefusalBody {
  readonly code?: string;
  readonly message?: string;
  readonly todo?: string;
  readonly details?: readonly { readonly path: string; readonly message: string }[];
}

async function refusal(response: Response, url: string): Promise<CliError> {
  let body: RefusalBody = {};
  try {
    body = (await response.json()) as RefusalBody;
  } catch {
    // Not the API's shape: something else answers here, or the controller is away.
  }
  if (body.code?.startsWith("PENSTOCK_") !== true) {
    const todo = "Is this the address of a Penstock region? Its controller may also be starting; try again.";
    const exitCode = response.status >= 500 ? EXIT.unreachable : EXIT.failed;
    return new CliError("PENSTOCK_BAD_ANSWER", `${url} answered ${response.status}`, todo, exitCode);
  }
  const details = (body.details ?? []).map(({ path, message }) => `\n  - ${path}: ${message}`).join("");
  return new CliError(body.code as `PENSTOCK_${string}`, `${body.message}${details}`, body.todo ?? "");
}
