import type { RequestHead } from "./http1/request-head.ts";

/** A refused request's body is read to its end up to this size, so that the connection can go on being used. */
const DRAIN_BYTES = 65_536;

/** Whether an error answer should wait for the body's end: short, and its client does not wait for a word first. */
export function isWorthDraining(head: RequestHead): boolean {
  const { framing } = head;
  return framing.kind === "length" && framing.bytes <= DRAIN_BYTES && !head.expectContinue;
}

/** A request's body as far as it has come, kept for the scan, the queue and a second try. */
export class RequestBody {
  #pieces: Buffer[] = [];
  bytes = 0;
  isComplete = false;

  /** Keeps a copy: the bytes are the caller's again afterwards. */
  add(bytes: Buffer, start: number, end: number): void {
    this.#pieces.push(Buffer.from(bytes.subarray(start, end)));
    this.bytes += end - start;
  }

  /** All that has come, in one piece. */
  joined(): Buffer {
    if (this.#pieces.length === 1) return this.#pieces[0]!;
    const whole = Buffer.concat(this.#pieces);
    this.#pieces = [whole];
    return whole;
  }

  /** Lets go of the bytes; they can't be sent again. */
  release(): void {
    this.#pieces = [];
  }
}
