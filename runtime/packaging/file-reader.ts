import type { FileHandle } from "node:fs/promises";

/** The file ends before what its own bytes announce. */
export class UnexpectedEnd extends Error {
  override readonly name = "UnexpectedEnd";
}

const CHUNK_BYTES = 1 << 16;

/** Reads a file from front to back in small little-endian pieces, in chunks of 64 KiB; skipping reads nothing. */
export class FileReader {
  position = 0;
  readonly #handle: FileHandle;
  readonly #sizeBytes: number;
  #chunk: Buffer = Buffer.alloc(0);
  #chunkAt = 0;

  constructor(handle: FileHandle, sizeBytes: number) {
    this.#handle = handle;
    this.#sizeBytes = sizeBytes;
  }

  get atEnd(): boolean {
    return this.position >= this.#sizeBytes;
  }

  /** The next `count` bytes. Errors: UnexpectedEnd. */
  async take(count: number): Promise<Buffer> {
    if (this.position + count > this.#sizeBytes) throw new UnexpectedEnd();
    const held = this.position - this.#chunkAt;
    if (held < 0 || held + count > this.#chunk.length) await this.#fill(count);
    const start = this.position - this.#chunkAt;
    this.position += count;
    return this.#chunk.subarray(start, start + count);
  }

  /** Passes over `count` bytes. Errors: UnexpectedEnd. */
  async skip(count: number): Promise<void> {
    if (this.position + count > this.#sizeBytes) throw new UnexpectedEnd();
    this.position += count;
  }

  async u8(): Promise<number> {
    return (await this.take(1)).readUInt8();
  }

  async u32(): Promise<number> {
    return (await this.take(4)).readUInt32LE();
  }

  async u64(): Promise<number> {
    return Number((await this.take(8)).readBigUInt64LE());
  }

  async #fill(count: number): Promise<void> {
    const chunk = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, count));
    const { bytesRead } = await this.#handle.read(chunk, 0, chunk.length, this.position);
    if (bytesRead < count) throw new UnexpectedEnd();
    this.#chunk = chunk.subarray(0, bytesRead);
    this.#chunkAt = this.position;
  }
}
