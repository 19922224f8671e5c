import { Socket, type SocketConstructorOpts } from "node:net";

/** Node's own names for what is under a socket and for the server that counts it, which its types leave out. */
interface SocketInternals {
  _handle: NonNullable<SocketConstructorOpts["handle"]> | null;
  _server: object | null;
}

/**
 * Has an accepted socket read into `buffer`, as `onread` of an outgoing one does: a server has no such option, and without
 * it each read makes a buffer and goes through a stream's queue (8 % of a request's CPU, measured). A second Socket takes
 * the handle over; `accepted`, which must not have been read from (`pauseOnConnect`), is of no use any more.
 * `take` is told how many bytes came: they stand at the start of `buffer`, valid during the call only.
 */
export function readInto(buffer: Buffer, accepted: Socket, take: (size: number) => void): Socket {
  const internals = accepted as unknown as SocketInternals;
  const handle = internals._handle;
  if (handle === null) return accepted;
  internals._handle = null;
  const callback = (size: number): boolean => {
    take(size);
    return true;
  };
  const socket = new Socket({ handle, allowHalfOpen: true, noDelay: true, onread: { buffer, callback } });
  // The server counts its connections down as they end, for `maxConnections` and to close: this one stands for the other.
  (socket as unknown as SocketInternals)._server = internals._server;
  internals._server = null;
  return socket;
}
