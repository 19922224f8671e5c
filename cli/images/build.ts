import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../runtime/adapters/make-folder.ts";
import { billOfMaterials } from "../../runtime/packaging/image/bill.ts";
import { type Image, writeImage, writeLayer } from "../../runtime/packaging/image/oci.ts";
import { type LockedPackage, listPackage, productionPackages } from "../../runtime/packaging/image/packages.ts";
import { IMAGE_USER, systemEntries } from "../../runtime/packaging/image/system.ts";
import { listFolder, type TarEntry } from "../../runtime/packaging/image/tar.ts";

/** The images there are: what each carries beyond the common layers. */
export const IMAGES = ["core", "onnx", "gguf"] as const;
/** Name of an image. */
export type ImageName = (typeof IMAGES)[number];

/** Packages that only one engine needs: the rest stands in a layer that all images share. */
const ENGINES: Readonly<Record<Exclude<ImageName, "core">, RegExp>> = {
  onnx: /^onnxruntime-/,
  gguf: /^(?:node-llama-cpp|@node-llama-cpp\/.*)$/,
};
/** Node itself is a layer below; a language model's library comes for several processors. */
const LEFT_OUT = new RegExp(`^node-linux-|^@node-llama-cpp/(?!linux-${process.arch}$)`);
/** onnxruntime carries the libraries of all platforms and of CUDA. */
const OTHER_PLATFORMS =
  /^bin\/napi-v\d+\/(?!linux$|linux\/)|^bin\/napi-v\d+\/linux\/(?!x64|arm64)|providers_(?:cuda|tensorrt)/;
const OTHER_PROCESSOR = process.arch === "x64" ? /\/arm64(?:\/|$)/ : /\/x64(?:\/|$)/;
/** Compiled code, whose libraries the system has to have. */
const NATIVE = /\.node$|\.so(?:\.\d+)*$/;
const APP = "app";
/** What of the checkout runs: no tests, no fixtures, nothing that running it left there. */
const SOURCES = ["bin", "cli", "runtime"] as const;
const NOT_RUN = /\.(?:test|fixture)\.tsx?$|\.golden\.txt$|\.md$|(?:^|\/)(?:testing|__pycache__)$/;

/** What an image build needs. */
export interface BuildImagesOptions {
  /** The checkout, with its packages installed. */
  readonly root: string;
  /** Folder that gets `<name>.tar` and `<name>.cdx.json` for each image. */
  readonly out: string;
  readonly names: readonly ImageName[];
  readonly onProgress: (doing: string) => void;
}

/**
 * Builds images as OCI archives without a daemon or a registry. The same checkout on the same system gives the same
 * digests. Errors: a package of the lockfile that is not installed is left out; those of the file system.
 */
export async function buildImages(options: BuildImagesOptions): Promise<readonly Image[]> {
  makeFolder(options.out);
  const layers = mkdtempSync(join(options.out, "layers-"));
  try {
    return await buildWith(layers, options);
  } finally {
    rmSync(layers, { recursive: true });
  }
}

/** Builds by way of a folder that gets the layers. */
async function buildWith(
  layers: string,
  { root, out, names, onProgress }: BuildImagesOptions,
): Promise<readonly Image[]> {
  const packages = productionPackages(root).filter(({ name }) => !LEFT_OUT.test(name));
  const isEngine = ({ name }: LockedPackage): boolean => Object.values(ENGINES).some((engine) => engine.test(name));
  const common = packages.filter((one) => !isEngine(one));
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  onProgress("the layers that all images share");
  const files = await entriesOf(root, packages);
  const native = files.flatMap((entry) => (entry.kind === "file" && NATIVE.test(entry.path) ? [entry.source] : []));
  const [system, source, shared] = [
    await writeLayer(await systemEntries(process.execPath, native, root), layers),
    await writeLayer(await sourceEntries(root), layers),
    await writeLayer(await entriesOf(root, common), layers),
  ];
  const images: Image[] = [];
  for (const name of names) {
    onProgress(`penstock/${name}`);
    const own = name === "core" ? [] : packages.filter((one) => ENGINES[name].test(one.name));
    const bill = billOfMaterials(`penstock/${name}`, version, [...common, ...own]);
    const engine = own.length === 0 ? [] : [await writeLayer(await entriesOf(root, own), layers)];
    // The source lies on top: a change of it leaves all that is below where it is on a node.
    const stack = [system, shared, ...engine, source];
    images.push(
      await writeImage(`penstock.local/${name}:${version}`, stack, settings(version, bill), join(out, `${name}.tar`)),
    );
    writeFileSync(join(out, `${name}.cdx.json`), bill);
  }
  return images;
}

function settings(version: string, bill: string) {
  return {
    entrypoint: ["/usr/local/bin/node"],
    env: { PATH: "/usr/local/bin", NODE_ENV: "production", HOME: "/tmp" },
    workingDir: `/${APP}`,
    user: `${IMAGE_USER.uid}:${IMAGE_USER.gid}`,
    labels: {
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": "Apache-2.0",
      "dev.penstock.packages": String(JSON.parse(bill).components.length),
    },
  };
}

async function entriesOf(root: string, packages: readonly LockedPackage[]): Promise<readonly TarEntry[]> {
  const onlyHere = (relative: string): boolean => !OTHER_PLATFORMS.test(relative) && !OTHER_PROCESSOR.test(relative);
  const lists = packages.map((one) =>
    listPackage(root, one, APP, one.name === "onnxruntime-node" ? onlyHere : undefined),
  );
  return (await Promise.all(lists)).flat();
}

async function sourceEntries(root: string): Promise<readonly TarEntry[]> {
  const entries: TarEntry[] = [];
  for (const folder of SOURCES) {
    entries.push(...(await listFolder(join(root, folder), `${APP}/${folder}`, (relative) => !NOT_RUN.test(relative))));
  }
  const described = readFileSync(join(root, "package.json"), "utf8");
  return [...entries, { kind: "text", path: `${APP}/package.json`, mode: 0o644, text: described }];
}
