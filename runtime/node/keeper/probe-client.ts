import { Agent, request } from "node:http";
import { HEADERS } from "../../contract/names.ts";
import type { Address } from "../../domain/replica.ts";
import type { ProbeRequest } from "../../serving/contract.ts";

/** How a probe went. */
export interface ProbeOutcome {
  readonly status: number;
  readonly durationMs: number;
  /** The first bytes of the answer, for errors. */
  readonly excerpt: string;
}

const EXCERPT_BYTES = 300;

/** Sends a keeper's own requests to its replica over loopback. */
export class ProbeClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  readonly #address: Address;
  readonly #secret: string;

  constructor(address: Address, secret: string) {
    this.#address = address;
    this.#secret = secret;
  }

  /** Sends one probe and reads its whole answer. Rejects on a lost connection or after `timeoutMs`. */
  send(probe: Omit<ProbeRequest, "requestClass">, timeoutMs: number): Promise<ProbeOutcome> {
    const startedMs = performance.now();
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          ...this.#address,
          method: probe.method,
          path: probe.path,
          headers: { ...probe.headers, [HEADERS.probe]: this.#secret, "content-length": Buffer.byteLength(probe.body) },
          agent: this.#agent,
          signal: AbortSignal.timeout(timeoutMs),
        },
        (incoming) => {
          let excerpt = "";
          incoming.on("data", (piece: Buffer) => {
            if (excerpt.length < EXCERPT_BYTES) excerpt += piece.toString("utf8", 0, EXCERPT_BYTES);
          });
          incoming.on("end", () => {
            resolve({ status: incoming.statusCode ?? 0, durationMs: performance.now() - startedMs, excerpt });
          });
          incoming.on("error", reject);
        },
      );
      outgoing.on("error", reject);
      outgoing.end(probe.body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
