import { Agent, type RequestOptions, request } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import { UserError } from "../../core/errors.ts";

/** Longest answer that is held in memory: the API server sends pages, and no object may be larger than 3 MiB. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** An API server that sends nothing for this long is asked again. */
const SILENCE_MS = 30_000;

/** A request to an API server. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** Of the body; `application/json` unless said. */
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

/** The API server's refusal: `reason` is Kubernetes' own word (`NotFound`, `Conflict`, `Expired`, `Invalid`, ...). */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly status: number;
  readonly reason: string;
  /** Seconds that the server asks to wait, or null. */
  readonly retryAfterSeconds: number | null;
  constructor(status: number, reason: string, message: string, retryAfterSeconds: number | null) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A connection to an API server. */
export interface KubeClient {
  /** Sends and resolves with the parsed answer. Errors: KubeError for a refusal; the network's own. */
  send(request: KubeRequest): Promise<unknown>;
  /**
   * Sends and hands over each line of the answer as parsed JSON; resolves when the server ends it. A silence longer than
   * `silenceMs` is an error. Errors: KubeError for a refusal; the network's own; the signal's reason.
   */
  stream(request: KubeRequest, silenceMs: number, take: (line: unknown) => void): Promise<void>;
  close(): void;
}

/**
 * The client of a context of the user's kubeconfig (KUBECONFIG or ~/.kube/config), or of the cluster this process runs in.
 * Errors: UserError where there is no such context or no configuration at all.
 */
export function connectToCluster(context: string | null): KubeClient {
  const config = new KubeConfig();
  config.loadFromDefault();
  if (context !== null) {
    const known = config.getContexts().map((one) => one.name);
    if (!known.includes(context)) {
      throw new UserError(
        "PENSTOCK_UNKNOWN_CONTEXT",
        `There is no context named ${context} in the kubeconfig`,
        known.length === 0 ? "Set KUBECONFIG to a file that has one." : `Give one of ${known.join(", ")}.`,
      );
    }
    config.setCurrentContext(context);
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) {
    throw new UserError(
      "PENSTOCK_NO_CLUSTER",
      "No Kubernetes cluster is configured",
      "Set KUBECONFIG, or give a context of ~/.kube/config.",
    );
  }
  return new Client(config, new URL(server));
}

class Client implements KubeClient {
  readonly #config: KubeConfig;
  readonly #server: URL;
  /** The certificates and keys are the agent's: read once, as they are for every connection. */
  #agent: Agent | null = null;

  constructor(config: KubeConfig, server: URL) {
    this.#config = config;
    this.#server = server;
  }

  async send(asked: KubeRequest): Promise<unknown> {
    let text = "";
    await this.#exchange(asked, SILENCE_MS, (chunk) => {
      text += chunk;
      if (text.length > MAX_ANSWER_BYTES)
        throw new Error(`the answer of ${asked.path} is over ${MAX_ANSWER_BYTES} bytes`);
    });
    return text.startsWith("{") ? JSON.parse(text) : text;
  }

  async stream(asked: KubeRequest, silenceMs: number, take: (line: unknown) => void): Promise<void> {
    let rest = "";
    await this.#exchange(asked, silenceMs, (chunk) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") take(JSON.parse(line));
    });
  }

  close(): void {
    this.#agent?.destroy();
  }

  async #exchange(asked: KubeRequest, silenceMs: number, take: (chunk: string) => void): Promise<void> {
    const body = asked.body === undefined ? null : Buffer.from(JSON.stringify(asked.body));
    const options = await this.#optionsOf(asked, body);
    return new Promise((resolve, reject) => {
      const sent = request(options, (answer) => {
        const failed = (answer.statusCode ?? 0) >= 300;
        let refusal = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => {
          try {
            if (failed) refusal += chunk;
            else take(chunk);
          } catch (error) {
            sent.destroy(error as Error);
          }
        });
        answer.on("error", reject);
        answer.on("end", () => {
          if (failed) reject(refused(answer.statusCode ?? 0, refusal, answer.headers["retry-after"]));
          else resolve();
        });
      });
      sent.on("error", reject);
      sent.setTimeout(silenceMs, () =>
        sent.destroy(new Error(`no word from ${this.#server.host} for ${silenceMs} ms`)),
      );
      sent.end(body ?? undefined);
    });
  }

  async #optionsOf(asked: KubeRequest, body: Buffer | null): Promise<RequestOptions> {
    const query = Object.entries(asked.query ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    const prefix = this.#server.pathname.replace(/\/$/, "");
    const options: RequestOptions = {
      method: asked.method,
      hostname: this.#server.hostname,
      port: this.#server.port || 443,
      path: `${prefix}${asked.path}${query.length === 0 ? "" : `?${query.join("&")}`}`,
      headers: {
        accept: "application/json",
        // Node says no length for the body of a DELETE by itself.
        ...(body === null
          ? {}
          : { "content-type": asked.contentType ?? "application/json", "content-length": body.length }),
      },
      ...(asked.signal === undefined ? {} : { signal: asked.signal }),
    };
    // Fills in the credentials: tokens may be renewed in their file at any time, so they are asked for at each request.
    await this.#config.applyToHTTPSOptions(options);
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
    const tls = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
    const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
    this.#agent ??= new Agent({ keepAlive: true, ...given });
    return { ...options, agent: this.#agent };
  }
}

function refused(status: number, text: string, retryAfter: string | undefined): KubeError {
  const seconds = retryAfter === undefined ? null : Number(retryAfter);
  const wait = seconds !== null && Number.isFinite(seconds) ? seconds : null;
  try {
    const { reason, message } = JSON.parse(text) as { reason?: string; message?: string };
    return new KubeError(status, reason ?? String(status), message ?? text, wait);
  } catch {
    return new KubeError(status, String(status), text.trim() || `the API server answered ${status}`, wait);
  }
}
