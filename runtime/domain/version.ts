import { canonicalJson, sha256Hex } from "../core/canonical.ts";
import type { WallMs } from "../core/time.ts";
import type { EndpointName, VersionId } from "./names.ts";
import { versionIdOf } from "./names.ts";

/** How a kind of model runs (a file of that name under serving/). */
export type RuntimeKind = "onnx" | "gguf" | "mlflow" | "custom";

/** Front doors: shapes of requests that clients speak. `raw` passes any path through (custom runtimes). */
export type Door = "openai" | "mlflow" | "kserve" | "raw";

/** Settings of one replica process; a change of any of them makes a new version. */
export interface RunSettings {
  /** CPU cores allotted to one replica; decides every thread setting. May be a fraction, at least 0.1. */
  readonly cpuCount: number;
  /** Memory allotted to one replica; null = as measured. */
  readonly memoryBytes: number | null;
  readonly env: Readonly<Record<string, string>>;
  /** custom: the command, which listens on $PORT. */
  readonly command: readonly string[] | null;
  /** custom: base URL of a server that runs elsewhere; Penstock then starts no process of it. */
  readonly url: string | null;
  /** custom: path whose GET answers 2xx once the server can serve; null = `/` answers anything below 500. */
  readonly readyPath: string | null;
  /** gguf: tokens of context a sequence may hold; null = the runtime's default. */
  readonly contextTokens: number | null;
  /** Most requests one replica may hold at once where the model demands it (1 = one at a time); null = learned. */
  readonly maxInFlight: number | null;
}

/** What a version is made of. `digest` is SHA-256 over the artifact's files; `path` is where this region holds them. */
export interface Artifact {
  readonly source: string;
  readonly digest: string;
  readonly path: string;
  readonly sizeBytes: number;
}

/** An immutable model version: artifact, environment and run settings, named by their hash. */
export interface Version {
  readonly id: VersionId;
  readonly endpoint: EndpointName;
  readonly runtime: RuntimeKind;
  readonly artifact: Artifact;
  /** Hash of the locked environment (mlflow), or null where the runtime needs none. */
  readonly environmentHash: string | null;
  readonly run: RunSettings;
  readonly createdAtMs: WallMs;
}

/**
 * The single list of fields that make a new version: a change of anything else needs no restart.
 * Returns the version's id.
 */
export function versionIdFrom(
  endpoint: EndpointName,
  made: {
    readonly runtime: RuntimeKind;
    readonly artifactDigest: string;
    readonly environmentHash: string | null;
    readonly run: RunSettings;
  },
): VersionId {
  const { runtime, artifactDigest, environmentHash, run } = made;
  return versionIdOf(endpoint, sha256Hex(canonicalJson({ runtime, artifactDigest, environmentHash, run: { ...run } })));
}

/** The doors a runtime answers, the preferred one first. */
export const DOORS_OF_RUNTIME: Readonly<Record<RuntimeKind, readonly Door[]>> = {
  onnx: ["mlflow", "kserve"],
  gguf: ["openai"],
  mlflow: ["mlflow", "kserve"],
  custom: ["openai", "mlflow", "kserve", "raw"],
};
