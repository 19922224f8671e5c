import { Agent, request } from "node:http";

/** One kind of request that a load sends, and how its right answer is told. */
export interface Target {
  readonly name: string;
  readonly path: string;
  readonly body: unknown;
  isRight(text: string): boolean;
}

/** What became of one request. Times are of performance.now(). */
export interface Sent {
  readonly target: string;
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  /** `right`, or what came instead of the right answer. */
  readonly result: string;
  /** The version that answered. */
  readonly version: string | null;
  /** It failed on its connection to the router; no answer came at all. */
  readonly isConnectionLost: boolean;
}

/** Sends requests at an even rate whatever becomes of those before (open loop), and accounts for every one. */
export class SteadyLoad {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #timer: NodeJS.Timeout;
  readonly #pending = new Set<Promise<void>>();
  readonly #sent: Sent[] = [];
  readonly #url: URL;
  readonly #targets: readonly Target[];
  #count = 0;

  constructor(url: string, ratePerSecond: number, targets: readonly Target[]) {
    this.#url = new URL(url);
    this.#targets = targets;
    const startedAtMs = performance.now();
    this.#timer = setInterval(() => {
      // A late timer is made up for: the schedule is fixed by the start.
      const due = ((performance.now() - startedAtMs) / 1_000) * ratePerSecond;
      while (this.#count < due) this.#send();
    }, 5);
  }

  /** What became of those that have ended so far. */
  get sent(): readonly Sent[] {
    return this.#sent;
  }

  /** Sends no more, and resolves once all that were sent have ended. */
  async stop(): Promise<readonly Sent[]> {
    clearInterval(this.#timer);
    await Promise.all(this.#pending);
    this.#agent.destroy();
    return this.#sent;
  }

  #send(): void {
    const target = this.#targets[this.#count++ % this.#targets.length]!;
    const done = this.#ask(target).then((sent) => {
      this.#sent.push(sent);
      this.#pending.delete(done);
    });
    this.#pending.add(done);
  }

  #ask(target: Target): Promise<Sent> {
    const sentAtMs = performance.now();
    return new Promise((resolve) => {
      const end = (result: string, version: string | null, isConnectionLost: boolean): void =>
        resolve({ target: target.name, sentAtMs, endedAtMs: performance.now(), result, version, isConnectionLost });
      const post = request(
        {
          agent: this.#agent,
          host: this.#url.hostname,
          port: this.#url.port,
          path: target.path,
          method: "POST",
          headers: { "content-type": "application/json" },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (chunk: string) => {
            text += chunk;
          });
          response.on("error", (error) => end(String(error), null, true));
          response.on("end", () => {
            const version = response.headers["x-penstock-version"];
            const isRight = response.statusCode === 200 && target.isRight(text);
            end(
              isRight ? "right" : `${response.statusCode} ${text}`,
              version === undefined ? null : String(version),
              false,
            );
          });
        },
      );
      post.on("error", (error) => end(String(error), null, true));
      post.end(JSON.stringify(target.body));
    });
  }
}
