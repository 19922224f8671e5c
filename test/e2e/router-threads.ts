import { setTimeout as sleep } from "node:timers/promises";

/** A message of the inspector's protocol. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId: string };
}

/**
 * Reaches into the worker threads of a running Node process through Node's own inspector, which any Node process opens
 * at SIGUSR1: no hook in the product is needed to make one of its threads throw. Start the process with
 * `--inspect-port=0`, so that several find a port.
 */
export class ThreadBreaker {
  readonly #socket: WebSocket;
  readonly #sessions = new Set<string>();
  #whenGone: ((session: string) => void) | null = null;
  #messages = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#hear(JSON.parse(String(data)) as Message));
  }

  /** Opens the inspector of process `pid`, which writes where it listens to the log that `readLog` reads. */
  static async open(pid: number, readLog: () => string): Promise<ThreadBreaker> {
    const said = /Debugger listening on (ws:\S+)/g;
    const before = [...readLog().matchAll(said)].length;
    process.kill(pid, "SIGUSR1");
    let url: string | undefined;
    while (url === undefined) {
      await sleep(20);
      url = [...readLog().matchAll(said)][before]?.[1];
    }
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    const breaker = new ThreadBreaker(socket);
    breaker.#send("NodeWorker.enable", { waitForDebuggerOnStart: false });
    return breaker;
  }

  /** Makes the n-th of its threads throw, and resolves once that thread has ended. Requires: the process has threads. */
  async throwInThread(n: number): Promise<void> {
    while (this.#sessions.size === 0) await sleep(5);
    const session = [...this.#sessions][n % this.#sessions.size]!;
    const gone = new Promise<void>((resolve) => {
      this.#whenGone = (ended) => {
        if (ended === session) resolve();
      };
    });
    const expression = "setTimeout(() => { throw new Error('thrown by a test'); })";
    const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } });
    this.#send("NodeWorker.sendMessageToWorker", { sessionId: session, message });
    await gone;
  }

  close(): void {
    this.#socket.close();
  }

  #send(method: string, params: object): void {
    this.#messages += 1;
    this.#socket.send(JSON.stringify({ id: this.#messages, method, params }));
  }

  #hear({ method, params }: Message): void {
    if (params === undefined) return;
    if (method === "NodeWorker.attachedToWorker") this.#sessions.add(params.sessionId);
    if (method === "NodeWorker.detachedFromWorker") {
      this.#sessions.delete(params.sessionId);
      this.#whenGone?.(params.sessionId);
    }
  }
}
