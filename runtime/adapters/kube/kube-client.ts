import { Agent, type RequestOptions, request } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import { UserError } from "../../core/errors.ts";

/** Longest answer that is held in memory: the API server sends pages, and no object may be larger than 3 MiB. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** Longest line of a watch: an object of 3 MiB, twice over for its escapes. */
const MAX_LINE_CHARS = 6 * 1024 * 1024;
/** Of a refusal that is longer only the beginning is read: it is for people. */
const MAX_REFUSAL_CHARS = 64 * 1024;
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
 * Errors: UserError where there is no such context, or no configuration that can be read.
 */
export function connectToCluster(context: string | null): KubeClient {
  const config = new KubeConfig();
  try {
    config.loadFromDefault();
  } catch (error) {
    throw new UserError(
      "PENSTOCK_KUBECONFIG_UNREADABLE",
      `The kubeconfig can't be read: ${(error as Error).message}`,
      "Set KUBECONFIG to a file that is one.",
    );
  }
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
  const url = new URL(server);
  if (url.protocol !== "https:") {
    throw new UserError(
      "PENSTOCK_CLUSTER_WITHOUT_TLS",
      `The API server ${server} is not an https:// address: what is sent to it could be read on the way`,
      "Give a context whose server is one.",
    );
  }
  return new Client(config, url);
}

class Client implements KubeClient {
  readonly #config: KubeConfig;
  readonly #server: URL;
  /** Holds connections only: certificates may be renewed at any time, so each request brings those it is made with. */
  readonly #agent = new Agent({ keepAlive: true });

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
      const lines = chunk.split("\n");
      lines[0] = rest + lines[0];
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE_CHARS) throw new Error(`a line of ${asked.path} is over ${MAX_LINE_CHARS} characters`);
      for (const line of lines) if (line !== "") take(JSON.parse(line));
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  async #exchange(asked: KubeRequest, silenceMs: number, take: (chunk: string) => void): Promise<void> {
    const body = asked.body === undefined ? null : Buffer.from(JSON.stringify(asked.body));
    // The time-out is given with the request, for one set later does not run while it connects.
    const options = { ...(await this.#optionsOf(asked, body)), timeout: silenceMs };
    return new Promise((resolve, reject) => {
      const sent = request(options, (answer) => {
        const failed = (answer.statusCode ?? 0) >= 300;
        let refusal = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => {
          try {
            if (failed) refusal = (refusal + chunk).slice(0, MAX_REFUSAL_CHARS);
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
      sent.on("timeout", () => sent.destroy(new Error(`no word from ${this.#server.host} for ${silenceMs} ms`)));
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
      // A URL writes IPv6 in brackets, a socket doesn't.
      hostname: this.#server.hostname.replace(/^\[|\]$/g, ""),
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
    // The way through a proxy is an agent of the configuration's own.
    return this.#config.getCurrentCluster()?.proxyUrl === undefined ? { ...options, agent: this.#agent } : options;
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
