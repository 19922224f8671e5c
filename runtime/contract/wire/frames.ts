import type { WireMessage } from "./messages.ts";

/** Version of the frame format; a peer of another version is refused by name. */
const WIRE_VERSION = 1;
/** Largest payload of one frame: a snapshot of 10,000 replicas is about 2 MB of JSON. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const HEAD_BYTES = 5;

/** A frame that can't be decoded; the connection it came on must be closed. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

/** One frame: u32 length of the payload (big endian), u8 wire version, payload as UTF-8 JSON. */
export function encodeFrame(message: WireMessage): Buffer {
  const payload = Buffer.from(JSON.stringify(message), "utf8");
  if (payload.length > MAX_FRAME_BYTES)
    throw new FrameError(`frame of ${payload.length} bytes is over ${MAX_FRAME_BYTES}`);
  const frame = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.writeUInt8(WIRE_VERSION, 4);
  payload.copy(frame, HEAD_BYTES);
  return frame;
}

/** Cuts a byte stream into messages. Bytes may come in any pieces, at a cost linear in their number. Errors: FrameError on a frame too long, of another version, or not JSON. */
export class FrameDecoder {
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Bytes that must be there before anything can be read: of a head, then of the frame it begins. */
  #neededBytes = HEAD_BYTES;

  /** Takes the next bytes and returns the messages completed by them. */
  push(chunk: Buffer): WireMessage[] {
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    const messages: WireMessage[] = [];
    while (this.#pendingBytes >= this.#neededBytes) {
      const bytes = this.#joined();
      const length = bytes.readUInt32BE(0);
      const version = bytes.readUInt8(4);
      if (version !== WIRE_VERSION) throw new FrameError(`wire version ${version}, expected ${WIRE_VERSION}`);
      if (length > MAX_FRAME_BYTES) throw new FrameError(`frame of ${length} bytes is over ${MAX_FRAME_BYTES}`);
      this.#neededBytes = HEAD_BYTES + length;
      if (bytes.length < this.#neededBytes) break;
      messages.push(parsePayload(bytes.subarray(HEAD_BYTES, this.#neededBytes)));
      const rest = bytes.subarray(this.#neededBytes);
      this.#neededBytes = HEAD_BYTES;
      this.#pending = rest.length > 0 ? [rest] : [];
      this.#pendingBytes = rest.length;
    }
    return messages;
  }

  #joined(): Buffer {
    const [first] = this.#pending;
    if (first !== undefined && this.#pending.length === 1) return first;
    const whole = Buffer.concat(this.#pending);
    this.#pending = [whole];
    return whole;
  }
}

function parsePayload(payload: Buffer): WireMessage {
  let value: unknown;
  try {
    value = JSON.parse(payload.toString("utf8"));
  } catch {
    throw new FrameError("frame payload is not JSON");
  }
  if (value === null || typeof value !== "object" || typeof (value as { kind?: unknown }).kind !== "string") {
    throw new FrameError("frame payload has no kind");
  }
  return value as WireMessage;
}
