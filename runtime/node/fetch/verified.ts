import { stat } from "node:fs/promises";
import { type KeptFormat, readKept, writeKept } from "../../adapters/kept-file.ts";
import { sha256OfFile } from "./download.ts";

/** How a file of the cache looked when its content had been hashed. Not its ctime: a region's link to it changes that. */
interface Looks {
  readonly sizeBytes: number;
  /** Nanoseconds, and an inode number: digits, since both may be past 2^53. */
  readonly modifiedAtNs: string;
  readonly inode: string;
}

const VERIFIED: KeptFormat = "verified-model/1";

/**
 * Whether a file of the cache has the content that its folder is named by. One that looks as it did when it was hashed is
 * not read again; `onHash` is told when it must be. Cost of a hash: about 1.5 GB/s.
 */
export async function isAsNamed(
  path: string,
  sha256: string,
  context: { readonly signal: AbortSignal; onHash(): void },
): Promise<boolean> {
  const looks = await looksOf(path);
  if (looks === null) return false;
  const kept = readKept<Looks>(recordOf(path), VERIFIED, areLooks, () => {});
  if (kept?.sizeBytes === looks.sizeBytes && kept.modifiedAtNs === looks.modifiedAtNs && kept.inode === looks.inode)
    return true;
  context.onHash();
  if ((await sha256OfFile(path, context.signal)) !== sha256) return false;
  keepLooks(path, looks);
  return true;
}

/** Remembers that the file's content has just been hashed and is what its folder is named by. */
export async function rememberVerified(path: string): Promise<void> {
  const looks = await looksOf(path);
  if (looks !== null) keepLooks(path, looks);
}

function keepLooks(path: string, looks: Looks): void {
  try {
    writeKept(recordOf(path), VERIFIED, looks);
  } catch {
    // A full disk, or a cache that others own: the file is hashed again next time.
  }
}

/** Null where there is no such file. */
async function looksOf(path: string): Promise<Looks | null> {
  const entry = await stat(path, { bigint: true }).catch(() => null);
  if (!entry?.isFile()) return null;
  return { sizeBytes: Number(entry.size), modifiedAtNs: String(entry.mtimeNs), inode: String(entry.ino) };
}

function areLooks({ sizeBytes, modifiedAtNs, inode }: Looks): boolean {
  return typeof sizeBytes === "number" && typeof modifiedAtNs === "string" && typeof inode === "string";
}

function recordOf(path: string): string {
  return `${path}.verified.json`;
}
