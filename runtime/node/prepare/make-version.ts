import { constants } from "node:fs";
import { copyFile, link, mkdir, mkdtemp, rename, rm, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { publicUrl } from "../../core/url-text.ts";
import type { EndpointSpec } from "../../domain/endpoint.ts";
import { type Artifact, type Version, versionIdFrom } from "../../domain/version.ts";
import { type Detected, detectArtifact } from "../../packaging/detect.ts";
import { type Digest, digestFiles, statFiles } from "../../packaging/digest.ts";
import { makeEnvironment } from "../../packaging/environment.ts";
import { systemCode } from "../../packaging/errors.ts";
import { checkGguf } from "../../packaging/gguf-check.ts";
import { artifactDir } from "../../packaging/layout.ts";
import { checkOnnx } from "../../packaging/onnx-check.ts";
import { exists } from "../../packaging/uv.ts";
import type { Clock } from "../../ports/clock.ts";
import { checkRoom, type Progress } from "../fetch/download.ts";
import { type FetchedModel, fetchModel } from "../fetch/fetch-model.ts";

/** What making a version needs, and whom it tells. */
export interface MakeContext {
  readonly cacheDir: string;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What is being done, in words, with its progress. */
  onProgress(doing: string, progress: Progress | null): void;
  /** Something the user should know, though it is no error. */
  onNote(note: string): void;
}

/** SHA-256 of nothing: the digest of a version that has no artifact (a bare command or URL). */
const EMPTY_DIGEST = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/**
 * Makes the version a spec names: fetches the model, sees what it is, checks it, keeps a snapshot of its files, and
 * locks and builds its environment. Each step that was finished is found finished by a later call.
 * Errors: RetryableError for what may pass, UserError for what the user must change.
 */
export async function makeVersion(spec: EndpointSpec, context: MakeContext): Promise<Version> {
  if (spec.model === "") return versionOf(spec, "custom", noArtifact(), null, context);
  const isCustom = spec.run.command !== null || spec.run.url !== null;
  const fetched = await fetchModel(spec.model, spec.modelSha256, context);
  const detected = await detectArtifact(fetched.path, isCustom ? "custom" : spec.runtime);
  if (detected.runtime === "onnx") await checkOnnx(join(detected.root, detected.entry));
  if (detected.runtime === "gguf") {
    for (const shard of detected.files.filter((file) => file.endsWith(".gguf"))) {
      await checkGguf(join(detected.root, shard));
    }
  }
  const artifact = await snapshot(publicUrl(spec.model), fetched, detected, context);
  if (detected.runtime !== "mlflow") return versionOf(spec, detected.runtime, artifact, null, context);
  const environment = await makeEnvironment(artifact.path, context.dataDir, {
    ...context,
    onProgress: (doing) => context.onProgress(doing, null),
  });
  if (environment.note !== null) context.onNote(environment.note);
  return versionOf(spec, "mlflow", artifact, environment.hash, context);
}

function versionOf(
  spec: EndpointSpec,
  runtime: Version["runtime"],
  artifact: Artifact,
  environmentHash: string | null,
  context: MakeContext,
): Version {
  const { run } = spec;
  const id = versionIdFrom(spec.name, { runtime, artifactDigest: artifact.digest, environmentHash, run });
  return { id, endpoint: spec.name, runtime, artifact, environmentHash, run, createdAtMs: context.clock.wallMs() };
}

function noArtifact(): Artifact {
  return { source: "", digest: EMPTY_DIGEST, path: "", sizeBytes: 0 };
}

/**
 * Keeps the artifact's files under the region's folder, so that later edits of the user's files change no version.
 * A file of the cache is linked; a user's file is copied (a clone where the file system can), since a link would
 * follow an edit in place.
 */
async function snapshot(
  source: string,
  fetched: FetchedModel,
  detected: Detected,
  context: MakeContext,
): Promise<Artifact> {
  const { root, files, entry } = detected;
  const { sizeBytes } = await statFiles(root, files);
  const immutable = fetched.sha256 !== null;
  // A file of the cache is an artifact of its own.
  const knownHashes = new Map(files.length === 1 && fetched.sha256 !== null ? [[entry, fetched.sha256]] : []);
  const before = await digest(root, files, { doing: "hashing", totalBytes: sizeBytes, knownHashes }, context);
  const known = artifactDir(context.dataDir, before.digest);
  if (await holds(known, files, before, context)) {
    // Used again: it is not to be taken for garbage before the version that refers to it is known.
    const now = new Date();
    await utimes(known, now, now);
    return { source, ...before, path: join(known, entry) };
  }
  await mkdir(join(context.dataDir, "artifacts"), { recursive: true });
  // A folder of its own each time: two endpoints may be made of one model at once.
  const incoming = await mkdtemp(join(context.dataDir, "artifacts", "incoming-"));
  try {
    if (!immutable) await checkRoom(incoming, sizeBytes);
    await keepFiles(root, files, incoming, immutable);
    // A copy is hashed again: the user may have changed a file in between.
    const check = { doing: "checking", totalBytes: sizeBytes, knownHashes: new Map() };
    const kept = immutable ? before : await digest(incoming, files, check, context);
    const target = artifactDir(context.dataDir, kept.digest);
    await renameUnlessThere(incoming, target);
    return { source, ...kept, path: join(target, entry) };
  } finally {
    await rm(incoming, { recursive: true, force: true });
  }
}

/** Whether a folder holds files of this content. One that was cut off or overwritten goes: it would fail each start for ever. */
async function holds(folder: string, files: readonly string[], wanted: Digest, context: MakeContext): Promise<boolean> {
  if (!(await exists(folder))) return false;
  try {
    const check = { doing: "checking", totalBytes: wanted.sizeBytes, knownHashes: new Map() };
    if ((await digest(folder, files, check, context)).digest === wanted.digest) return true;
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
  await rm(folder, { recursive: true, force: true });
  return false;
}

/** Whoever comes second finds the same content under the name: the digest says so. */
async function renameUnlessThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!(await exists(to))) throw error;
  }
}

async function digest(
  root: string,
  files: readonly string[],
  work: { readonly doing: string; readonly totalBytes: number; readonly knownHashes: ReadonlyMap<string, string> },
  context: MakeContext,
): Promise<Digest> {
  const { doing, totalBytes, knownHashes } = work;
  return digestFiles(root, files, {
    signal: context.signal,
    knownHashes,
    onProgress: (doneBytes) => context.onProgress(`${doing} the model`, { doneBytes, totalBytes }),
  });
}

async function keepFiles(root: string, files: readonly string[], target: string, immutable: boolean): Promise<void> {
  for (const file of files) {
    const to = join(target, file);
    await mkdir(dirname(to), { recursive: true });
    if (immutable && (await tryLink(join(root, file), to))) continue;
    await copyFile(join(root, file), to, constants.COPYFILE_FICLONE);
  }
}

/** Makes a hard link; false where the two are on different file systems. */
async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (["EXDEV", "EPERM", "EMLINK", "ENOTSUP"].includes(systemCode(error))) return false;
    throw error;
  }
}
