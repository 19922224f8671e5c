import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { encodeFrame, FrameDecoder, FrameError } from "../contract/wire/frames.ts";
import type { Hello, ToAgent, ToController, ToKeeper, ToRouter } from "../contract/wire/messages.ts";
import type { Log } from "../ports/log.ts";

/** Unsent bytes at which a peer that does not read is cut off; it dials again and is told everything anew. Room for one largest frame. */
const MAX_UNSENT_BYTES = 80 * 1024 * 1024;

/** One connected router, agent or keeper. */
export interface Peer {
  readonly role: Hello["role"];
  readonly name: string;
  readonly hello: Hello;
  /** False when the peer was cut off since it does not read. */
  send(message: ToRouter | ToAgent | ToKeeper): boolean;
}

/** Receives what peers say. */
export interface PeerObserver {
  /** A peer said Hello: on connecting, or again on the same connection to ask for everything. */
  hello(peer: Peer): void;
  message(peer: Peer, message: Exclude<ToController, Hello>): void;
  gone(peer: Peer): void;
}

/** The controller's end of our wire: at most one connection for each role and name. */
export interface ControllerServer {
  peers(role: Hello["role"]): readonly Peer[];
  close(): Promise<void>;
}

/**
 * Listens on a unix socket. The newest connection of a role and name wins; a bad frame closes that peer only.
 * Requires: no other live controller on this data folder (its lock says so); a socket file left by a dead one is replaced.
 */
export async function listenForPeers(
  path: string,
  { observer, log }: { readonly observer: PeerObserver; readonly log: Log },
): Promise<ControllerServer> {
  const peers = new Map<string, Connection>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    serve(socket, { peers, observer, log });
  });
  rmSync(path, { force: true });
  await listening(server, path);
  return {
    peers: (role) => [...peers.values()].filter((peer) => peer.role === role),
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

class Connection implements Peer {
  readonly role: Hello["role"];
  readonly name: string;
  readonly #socket: Socket;
  readonly #log: Log;
  hello: Hello;

  constructor(socket: Socket, hello: Hello, log: Log) {
    this.role = hello.role;
    this.name = hello.name;
    this.hello = hello;
    this.#socket = socket;
    this.#log = log;
  }

  send(message: ToRouter | ToAgent | ToKeeper): boolean {
    if (this.#socket.destroyed) return false;
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) {
      this.#log.warn("PEER_DOES_NOT_READ", { role: this.role, name: this.name });
      this.#socket.destroy();
      return false;
    }
    this.#socket.write(encodeFrame(message));
    return true;
  }

  cut(): void {
    this.#socket.destroy();
  }
}

interface Room {
  readonly peers: Map<string, Connection>;
  readonly observer: PeerObserver;
  readonly log: Log;
}

function serve(socket: Socket, { peers, observer, log }: Room): void {
  const decoder = new FrameDecoder();
  let peer: Connection | null = null;
  const take = (message: ToController): void => {
    if (message.kind === "hello") {
      peer = greet(socket, message, peer, { peers, observer, log });
    } else if (peer) {
      if (peers.get(keyOf(peer)) === peer) observer.message(peer, message);
    } else {
      throw new FrameError(`${message.kind} before hello`);
    }
  };
  socket.on("data", (chunk) => {
    try {
      for (const message of decoder.push(chunk)) take(message as ToController);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      log.warn("PEER_FRAME_REFUSED", { why: error.message, role: peer?.role ?? null, name: peer?.name ?? null });
      socket.destroy();
    }
  });
  socket.on("error", (error) => log.debug("PEER_ERROR", { why: error.message }));
  socket.on("close", () => {
    if (!peer || peers.get(keyOf(peer)) !== peer) return;
    peers.delete(keyOf(peer));
    observer.gone(peer);
  });
}

function greet(socket: Socket, hello: Hello, known: Connection | null, { peers, observer, log }: Room): Connection {
  if (known && keyOf(known) === keyOf(hello)) {
    known.hello = hello;
    observer.hello(known);
    return known;
  }
  if (known) throw new FrameError(`hello as ${keyOf(hello)} on the connection of ${keyOf(known)}`);
  const peer = new Connection(socket, hello, log);
  const older = peers.get(keyOf(peer));
  peers.set(keyOf(peer), peer);
  if (older) {
    older.cut();
    observer.gone(older);
  }
  observer.hello(peer);
  return peer;
}

const keyOf = ({ role, name }: { readonly role: string; readonly name: string }): string => `${role}/${name}`;
