import { setTimeout as sleep } from "node:timers/promises";

/** A message of the inspector's protocol. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId: string; readonly message?: string };
}

/**
 * Reaches into the worker threads of a running Node process through Node's own inspector, which any Node process opens
 * at SIGUSR1: no hook in the product is needed to make one of its threads throw. Start the process with
 * `--inspect-port=0`, so that several find a port.
 */
export class ThreadBreaker {
  readonly #socket: WebSocket;
  readonly #sessions = new Set<string>();
  /** Who waits for what a thread's expression gives, by session. */
  readonly #asked = new Map<string, (value: unknown) => void>();
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

  /** Makes the n-th of its threads that listen throw, and resolves once that thread has ended. */
  throwInThread(n: number): Promise<void> {
    return this.#breakThread(n, "setTimeout(() => { throw new Error('thrown by a test'); })");
  }

  /** Makes the n-th of its threads that listen spin for ever, and resolves once somebody has ended that thread. */
  spinInThread(n: number): Promise<void> {
    return this.#breakThread(n, "setTimeout(() => { for (;;); })");
  }

  async #breakThread(n: number, expression: string): Promise<void> {
    let listening: readonly string[] = [];
    while (listening.length === 0) {
      await sleep(5);
      listening = await this.#listeningThreads();
    }
    const session = listening[n % listening.length]!;
    const gone = new Promise<void>((resolve) => {
      this.#whenGone = (ended) => {
        if (ended === session) resolve();
      };
    });
    this.#evaluate(session, expression);
    await gone;
  }

  /** A thread in reserve has no listening socket. */
  async #listeningThreads(): Promise<readonly string[]> {
    const sessions = [...this.#sessions];
    const listens = await Promise.all(
      sessions.map((session) => {
        const { promise, resolve } = Promise.withResolvers<unknown>();
        this.#asked.set(session, resolve);
        this.#evaluate(session, "process.getActiveResourcesInfo().includes('TCPServerWrap')");
        return promise;
      }),
    );
    return sessions.filter((_, index) => listens[index] === true);
  }

  #evaluate(session: string, expression: string): void {
    const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } });
    this.#send("NodeWorker.sendMessageToWorker", { sessionId: session, message });
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
    if (method === "NodeWorker.receivedMessageFromWorker") {
      const { result } = JSON.parse(params.message!) as { result?: { result: { value?: unknown } } };
      if (result !== undefined) this.#asked.get(params.sessionId)?.(result.result.value);
    }
    if (method === "NodeWorker.detachedFromWorker") {
      this.#sessions.delete(params.sessionId);
      this.#asked.get(params.sessionId)?.(false);
      this.#whenGone?.(params.sessionId);
    }
  }
}
