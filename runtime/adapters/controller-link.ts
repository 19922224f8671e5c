import { connect, type Socket } from "node:net";
import { encodeFrame, FrameDecoder } from "../contract/wire/frames.ts";
import type { Hello, ToController, WireMessage } from "../contract/wire/messages.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Random } from "../ports/random.ts";

/** Unsent bytes past which a message is dropped: a controller that has stopped reading must not fill its peers' memory. */
const MAX_UNSENT_BYTES = 8 * 1024 * 1024;
/** First and longest wait before dialling again: a killed controller is back within a second and must be found at once. */
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;
/** A connection that lasted this long was a good one: the back-off starts anew. */
const GOOD_CONNECTION_MS = 1_000;

/** A connection to the controller that is made again for ever. */
export interface ControllerLink {
  readonly connected: boolean;
  /**
   * Sends, or drops and returns false when the controller is away or does not read: every message of our wire is
   * repaired by a later one, so nothing is queued over a lost connection.
   */
  send(message: ToController): boolean;
  close(): void;
}

/** What a peer of the controller needs to dial it. */
export interface DialOptions {
  /** Path of the controller's unix socket. */
  readonly socket: string;
  /** Asked at each connection, so that a router can say what it holds by then. */
  readonly hello: () => Hello;
  readonly onMessage: (message: WireMessage) => void;
  /** Called after each Hello: the moment to say everything again, since the controller may be a new one. */
  readonly onConnected?: (link: ControllerLink) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Dials the controller, says Hello, and dials again with jittered back-off whenever the connection ends. */
export function dialController(options: DialOptions): ControllerLink {
  return new Link(options);
}

class Link implements ControllerLink {
  readonly #options: DialOptions;
  #socket: Socket | null = null;
  #connected = false;
  #closed = false;
  #failures = 0;
  #connectedAtMs = 0;
  #cancelRetry = (): void => {};

  constructor(options: DialOptions) {
    this.#options = options;
    this.#dial();
  }

  get connected(): boolean {
    return this.#connected;
  }

  send(message: ToController): boolean {
    if (!this.#socket || !this.#connected || this.#socket.writableLength > MAX_UNSENT_BYTES) return false;
    this.#socket.write(encodeFrame(message));
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#cancelRetry();
    this.#socket?.end();
  }

  #dial(): void {
    const socket = connect(this.#options.socket);
    const decoder = new FrameDecoder();
    this.#socket = socket;
    socket.on("connect", () => {
      this.#connected = true;
      this.#connectedAtMs = this.#options.clock.monoMs();
      this.send(this.#options.hello());
      this.#options.onConnected?.(this);
    });
    socket.on("data", (chunk) => this.#receive(socket, decoder, chunk));
    socket.on("error", (error) => this.#options.log.debug("CONTROLLER_LINK_ERROR", { why: error.message }));
    socket.on("close", () => this.#lost());
  }

  #receive(socket: Socket, decoder: FrameDecoder, chunk: Buffer): void {
    let messages: WireMessage[];
    try {
      messages = decoder.push(chunk);
    } catch (error) {
      this.#options.log.warn("CONTROLLER_FRAME_REFUSED", { why: String(error) });
      socket.destroy();
      return;
    }
    for (const message of messages) this.#options.onMessage(message);
  }

  #lost(): void {
    if (this.#connected) {
      this.#options.log.info("CONTROLLER_LOST");
      if (this.#options.clock.monoMs() - this.#connectedAtMs > GOOD_CONNECTION_MS) this.#failures = 0;
    }
    this.#connected = false;
    if (this.#closed) return;
    const waitMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#cancelRetry = this.#options.clock.after(waitMs * (0.5 + this.#options.random.uniform() / 2), () =>
      this.#dial(),
    );
  }
}
