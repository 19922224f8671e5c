import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { type KeptFormat, readKept, writeKept } from "../../adapters/kept-file.ts";
import { UserError } from "../../core/errors.ts";
import { bytesText } from "../../core/format.ts";
import { publicUrl } from "../../core/url-text.ts";
import { RetryableError, systemCode } from "../../packaging/errors.ts";

/** Bytes had so far and in all; null while the total is unknown. */
export interface Progress {
  readonly doneBytes: number;
  readonly totalBytes: number | null;
}

/** What a server said of a file, kept beside its parts: they may be joined only if it is still the same file. */
interface Remote {
  readonly url: string;
  /** ETag or Last-Modified; null: the server gives neither, and parts can't be joined safely. */
  readonly validator: string | null;
}

const REMOTE: KeptFormat = "download/1";

/** A file that was fetched. */
export interface Downloaded {
  readonly sha256: string;
  readonly validator: string | null;
}

/** No byte for this long ends a try; the next one goes on from there. */
const STALL_MS = 30_000;

/**
 * Fetches `url` into `path`, through `path.part`, which a later call goes on with (Range and If-Range) after an
 * interruption. With `sha256` the content is checked and a wrong file is set aside as `path.wrong`.
 * `unlessValidator`: resolves to null if the server says that the file is still that one.
 * Errors: RetryableError for the network and for a full disk (with the bytes needed); UserError for what no later try can
 * change: a missing file, a wrong hash, an address that is never asked, an answer that can't be unpacked.
 */
export async function download(
  url: string,
  path: string,
  options: {
    readonly sha256: string | null;
    readonly unlessValidator: string | null;
    readonly signal: AbortSignal;
    onProgress(progress: Progress): void;
  },
): Promise<Downloaded | null> {
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.part`;
  const remoteFile = `${part}.json`;
  const remote = readKept<Remote>(remoteFile, REMOTE, isRemote, () => {});
  const resumable = remote?.url === url && (remote.validator !== null || options.sha256 !== null);
  const haveBytes = resumable ? ((await stat(part).catch(() => null))?.size ?? 0) : 0;
  const watchdog = new Watchdog(options.signal);
  try {
    const answer = await request(url, haveBytes, remote?.validator ?? null, options.unlessValidator, watchdog.signal);
    if (answer.status === 304) return null;
    const validator = answer.headers.get("etag") ?? answer.headers.get("last-modified");
    const startBytes = answer.status === 206 ? haveBytes : 0;
    writeKept(remoteFile, REMOTE, { url, validator } satisfies Remote);
    if (answer.status !== 416) await receive(answer, part, startBytes, watchdog, options.onProgress);
    const sha256 = await sha256OfFile(part, options.signal);
    if (options.sha256 !== null && sha256 !== options.sha256) await setAside(url, path, options.sha256, sha256);
    await rename(part, path);
    await rm(remoteFile, { force: true });
    return { sha256, validator };
  } catch (error) {
    throw options.signal.aborted ? options.signal.reason : asFetchError(error, url);
  } finally {
    watchdog.stop();
  }
}

/** SHA-256 of a file as 64 hex digits; about 1.5 GB/s. */
export async function sha256OfFile(path: string, signal: AbortSignal): Promise<string> {
  // A stream that is made with a signal already aborted never closes its file (Node 24).
  signal.throwIfAborted();
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, signal })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Checks that the disk under `folder` has room. Errors: RetryableError PENSTOCK_DISK_FULL. */
export async function checkRoom(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (neededBytes > bavail * bsize) throw diskFull(folder, neededBytes, bavail * bsize);
}

function isRemote({ url, validator }: Remote): boolean {
  return typeof url === "string" && (validator === null || typeof validator === "string");
}

async function request(
  url: string,
  haveBytes: number,
  validator: string | null,
  unlessValidator: string | null,
  signal: AbortSignal,
): Promise<Response> {
  const headers: Record<string, string> = { "accept-encoding": "identity" };
  if (haveBytes > 0) headers.range = `bytes=${haveBytes}-`;
  if (haveBytes > 0 && validator !== null) headers["if-range"] = validator;
  if (unlessValidator !== null && haveBytes === 0) {
    headers[/^(?:W\/)?"/.test(unlessValidator) ? "if-none-match" : "if-modified-since"] = unlessValidator;
  }
  const answer = await fetch(url, { headers, signal });
  const rangeStart = /^bytes (\d+)-/.exec(answer.headers.get("content-range") ?? "")?.[1];
  const fits = answer.status !== 206 || (rangeStart === String(haveBytes) && !isPacked(answer));
  // 416: all bytes are here already. Its total tells; otherwise begin again.
  const complete = answer.headers.get("content-range") === `bytes */${haveBytes}`;
  if (answer.status === 304 || (answer.ok && fits) || (answer.status === 416 && complete)) return answer;
  await answer.body?.cancel();
  if (haveBytes > 0 && (answer.status === 416 || !fits)) return request(url, 0, null, null, signal);
  throw statusError(url, answer.status);
}

/** Some stores answer with the packed form in which they keep a file, whatever was asked for; fetch unpacks it. */
function isPacked({ headers }: Response): boolean {
  return (headers.get("content-encoding") ?? "identity") !== "identity";
}

async function receive(
  answer: Response,
  part: string,
  startBytes: number,
  watchdog: Watchdog,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  // The length of a packed answer is not that of its content.
  const lengthText = isPacked(answer) ? null : answer.headers.get("content-length");
  const totalBytes = lengthText === null ? null : startBytes + Number(lengthText);
  if (totalBytes !== null) await checkRoom(dirname(part), totalBytes - startBytes);
  const file = await open(part, startBytes > 0 ? "r+" : "w");
  let doneBytes = startBytes;
  try {
    for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
      watchdog.feed();
      await file.write(chunk, 0, chunk.length, doneBytes);
      doneBytes += chunk.length;
      onProgress({ doneBytes, totalBytes });
    }
    await file.sync();
  } catch (error) {
    if (systemCode(error) !== "ENOSPC") throw error;
    throw diskFull(dirname(part), (totalBytes ?? doneBytes) - doneBytes, 0);
  } finally {
    await file.close();
  }
  if (totalBytes !== null && doneBytes !== totalBytes) throw new Error(`ended at ${doneBytes} of ${totalBytes} bytes`);
}

async function setAside(url: string, path: string, wanted: string, found: string): Promise<never> {
  await rename(`${path}.part`, `${path}.wrong`);
  await rm(`${path}.part.json`, { force: true });
  throw new UserError(
    "PENSTOCK_MODEL_HASH",
    `what came from ${publicUrl(url)} has SHA-256 ${found}, expected is ${wanted}`,
    `Compare the file (it was set aside as ${path}.wrong) with its publisher's hash; correct modelSha256, or find out who changed the file.`,
  );
}

function statusError(url: string, status: number): UserError {
  const mayPass = status === 408 || status === 429 || status >= 500;
  const message = `${publicUrl(url)} answers ${status}`;
  return mayPass
    ? new RetryableError("PENSTOCK_FETCH_FAILED", message, "It is tried again by itself.")
    : new UserError("PENSTOCK_FETCH_REFUSED", message, "Check the address in `model`, and whether it needs a login.");
}

function diskFull(folder: string, neededBytes: number, freeBytes: number): RetryableError {
  return new RetryableError(
    "PENSTOCK_DISK_FULL",
    `the disk under ${folder} is full: ${bytesText(neededBytes)} more are needed, ${bytesText(freeBytes)} are free`,
    "Free some space; it goes on by itself from where it stopped.",
  );
}

/**
 * Codes under which fetch fails for good: none where it refuses an address itself (a blocked port, a redirect to another
 * scheme or without end), and that of content that can't be unpacked. What the network does has codes of its own.
 */
const IS_FINAL = /^(?:|ERR_INVALID_URL|Z_DATA_ERROR)$/;

function asFetchError(error: unknown, url: string): Error {
  if (error instanceof UserError) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const what = cause instanceof Error ? cause.message || systemCode(cause) : String(cause);
  const message = `${publicUrl(url)} can't be fetched: ${what}`;
  if (error instanceof TypeError && IS_FINAL.test(systemCode(cause))) {
    return new UserError("PENSTOCK_FETCH_REFUSED", message, "Correct the address in `model`, then deploy again.");
  }
  return new RetryableError(
    "PENSTOCK_FETCH_FAILED",
    message,
    "Check the network (or a proxy); it goes on by itself from where it stopped. Offline, put the file on this machine and name its path in `model`.",
  );
}

/** Aborts when nothing came for STALL_MS, or when the outer signal does. */
class Watchdog {
  readonly signal: AbortSignal;
  readonly #stall = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.#stall.signal]);
    this.#timer = setTimeout(() => this.#stall.abort(new Error(`no byte for ${STALL_MS / 1000} s`)), STALL_MS);
  }

  feed(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
