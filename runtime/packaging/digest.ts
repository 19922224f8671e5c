import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";

/** Identity of an artifact's content. */
export interface Digest {
  /** SHA-256 over the list of files (hash, size, path), 64 hex digits. */
  readonly digest: string;
  readonly sizeBytes: number;
}

/**
 * Hashes files by content: the order in which they are given (a sorted list), their paths and their bytes count, times
 * and modes do not. Reads as a stream; about 1.5 GB/s a core. `onProgress` gets the bytes read so far.
 * `knownHashes`: SHA-256 of files by path that need not be read.
 */
export async function digestFiles(
  root: string,
  files: readonly string[],
  options: {
    readonly signal: AbortSignal;
    readonly knownHashes?: ReadonlyMap<string, string>;
    onProgress(doneBytes: number): void;
  },
): Promise<Digest> {
  const list = createHash("sha256").update("penstock artifact 1\n");
  let doneBytes = 0;
  for (const file of files) {
    const known = options.knownHashes?.get(file);
    if (known !== undefined) {
      const { size } = await stat(join(root, file));
      doneBytes += size;
      list.update(`${known} ${size} ${file}\n`);
      continue;
    }
    // A stream that is made with a signal already aborted never closes its file (Node 24).
    options.signal.throwIfAborted();
    const content = createHash("sha256");
    const before = doneBytes;
    for await (const chunk of createReadStream(join(root, file), {
      highWaterMark: 1 << 20,
      signal: options.signal,
    }) as AsyncIterable<Buffer>) {
      content.update(chunk);
      doneBytes += chunk.length;
      options.onProgress(doneBytes);
    }
    list.update(`${content.digest("hex")} ${doneBytes - before} ${file}\n`);
  }
  return { digest: list.digest("hex"), sizeBytes: doneBytes };
}

/**
 * Cheap sign that files may have changed (sizes, times, inode numbers): equal signs of an unwatched folder mean that
 * hashing again would give the same digest.
 */
export async function statFiles(root: string, files: readonly string[]): Promise<{ sign: string; sizeBytes: number }> {
  const sign = createHash("sha256");
  let sizeBytes = 0;
  for (const file of files) {
    const entry = await stat(join(root, file), { bigint: true });
    sizeBytes += Number(entry.size);
    sign.update(`${file}\n${entry.size} ${entry.mtimeNs} ${entry.ctimeNs} ${entry.ino}\n`);
  }
  return { sign: sign.digest("hex"), sizeBytes };
}
