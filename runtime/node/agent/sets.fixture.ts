import { asWallMs } from "../../core/time.ts";
import { replicaIdOf } from "../../domain/names.ts";
import type { ReplicaSet } from "../../domain/replica.ts";
import { versionIdFrom } from "../../domain/version.ts";
import { PLAIN_RUN } from "../../serving/custom/fixtures.ts";

/** The set of one replica of a whole version, whose id is the hash of what it is made of. */
export function aWholeSet(path = "/data/iris.onnx"): ReplicaSet {
  const made = {
    runtime: "onnx",
    environmentHash: null,
    run: PLAIN_RUN,
  } as const;
  const artifact = { source: "/models/iris.onnx", digest: "a".repeat(64), path, sizeBytes: 670 };
  const id = versionIdFrom("iris", { ...made, artifactDigest: artifact.digest });
  const version = { id, endpoint: "iris", artifact, createdAtMs: asWallMs(0), ...made };
  return { version, replicas: [{ id: replicaIdOf(id, 7), draining: false }] };
}
