import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { packTar, type TarEntry } from "./tar.ts";

/** A layer on disk: a tar archive, named by its digest. */
export interface Layer {
  readonly digest: string;
  readonly sizeBytes: number;
  readonly path: string;
}

/** How the programs of an image are started. */
export interface ImageConfig {
  readonly entrypoint: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  /** `uid:gid` that its programs run as. */
  readonly user: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** An image on disk as an OCI archive. */
export interface Image {
  readonly name: string;
  readonly path: string;
  /** Digest of its manifest: the same for the same content on every machine. */
  readonly digest: string;
  readonly sizeBytes: number;
}

/** Node's and Go's words for the same processors. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const EPOCH = "1970-01-01T00:00:00Z";

/** Writes entries as a layer into `folder`; one that is there already is written over by the same bytes. */
export async function writeLayer(entries: Iterable<TarEntry>, folder: string): Promise<Layer> {
  await mkdir(folder, { recursive: true });
  const scratch = await mkdtemp(join(folder, "layer-"));
  const writing = join(scratch, "writing");
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const measured = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      done(null, chunk);
    },
  });
  try {
    await pipeline(packTar(entries), measured, createWriteStream(writing));
    const digest = hash.digest("hex");
    const path = join(folder, `${digest}.tar`);
    await rename(writing, path);
    return { digest: `sha256:${digest}`, sizeBytes, path };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * Writes an image of layers, the lowest first, as an OCI archive that containerd, docker and podman import; no daemon and
 * no registry takes part. The file is there whole or not at all.
 */
export async function writeImage(
  name: string,
  layers: readonly Layer[],
  config: ImageConfig,
  path: string,
): Promise<Image> {
  const json = (value: unknown): Blob => blob(Buffer.from(JSON.stringify(value)));
  const settings = json({
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: "linux",
    created: EPOCH,
    config: {
      User: config.user,
      Env: Object.entries(config.env).map(([key, value]) => `${key}=${value}`),
      Entrypoint: config.entrypoint,
      WorkingDir: config.workingDir,
      Labels: config.labels,
    },
    rootfs: { type: "layers", diff_ids: layers.map((layer) => layer.digest) },
    history: layers.map(() => ({ created: EPOCH })),
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: described(settings, "application/vnd.oci.image.config.v1+json"),
    layers: layers.map((layer) => described(layer, "application/vnd.oci.image.layer.v1.tar")),
  });
  const index = JSON.stringify({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [
      {
        ...described(manifest, "application/vnd.oci.image.manifest.v1+json"),
        annotations: { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name },
      },
    ],
  });
  const entries: TarEntry[] = [
    { kind: "text", path: "oci-layout", mode: 0o644, text: '{"imageLayoutVersion":"1.0.0"}' },
    { kind: "text", path: "index.json", mode: 0o644, text: index },
    ...[settings, manifest].map(
      (one): TarEntry => ({ kind: "text", path: blobPath(one.digest), mode: 0o644, text: one.bytes }),
    ),
    // The same layer twice is one blob.
    ...new Map(layers.map((layer) => [layer.digest, layer])).values().map(
      (layer): TarEntry => ({
        kind: "file",
        path: blobPath(layer.digest),
        mode: 0o644,
        source: layer.path,
        sizeBytes: layer.sizeBytes,
      }),
    ),
  ];
  await mkdir(dirname(path), { recursive: true });
  const writing = `${path}.${process.pid}.writing`;
  try {
    await pipeline(packTar(entries), createWriteStream(writing));
    await rename(writing, path);
  } finally {
    await rm(writing, { force: true });
  }
  return { name, path, digest: manifest.digest, sizeBytes: (await stat(path)).size };
}

interface Blob {
  readonly bytes: Buffer;
  readonly digest: string;
  readonly sizeBytes: number;
}

const blob = (bytes: Buffer): Blob => ({
  bytes,
  digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
  sizeBytes: bytes.length,
});
const described = (one: { digest: string; sizeBytes: number }, mediaType: string): object => ({
  mediaType,
  digest: one.digest,
  size: one.sizeBytes,
});
const blobPath = (digest: string): string => `blobs/${digest.replace(":", "/")}`;
