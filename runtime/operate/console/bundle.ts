import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildFailure } from "esbuild";

/** Sources of the console's page. */
export const CLIENT_FOLDER = fileURLToPath(new URL("./client", import.meta.url));

/** A file of the console as a browser loads it. `name` holds the hash of the content, so that it may be cached for ever. */
export interface Asset {
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** The console ready to be served, or what stands in its way. */
export type Bundle =
  | { readonly kind: "built"; readonly script: Asset; readonly style: Asset }
  | { readonly kind: "broken"; readonly messages: readonly string[] };

/**
 * Builds the console in memory. Equal sources are built once; changed ones are built again at the next call, so that
 * a reload of the page shows them. Cost: a build takes about 0.1 s in a process of its own, which ends with it.
 */
export class Bundler {
  readonly #folder: string;
  #built: { readonly sourceHash: string; readonly bundle: Promise<Bundle> } | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The bundle of the sources as they are now. */
  async bundle(): Promise<Bundle> {
    const sourceHash = await hashOfFolder(this.#folder);
    if (this.#built?.sourceHash !== sourceHash) this.#built = { sourceHash, bundle: build(this.#folder) };
    const bundle = await this.#built.bundle;
    // What is missing may be a package, which the hash of the sources does not show: the next reload tries again.
    if (bundle.kind === "broken") this.#built = null;
    return bundle;
  }
}

async function hashOfFolder(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hash = createHash("sha256");
  for (const path of paths.toSorted())
    hash
      .update(path)
      .update("\0")
      .update(await readFile(path))
      .update("\0");
  return hash.digest("hex");
}

async function build(folder: string): Promise<Bundle> {
  const esbuild = await import("esbuild");
  try {
    const { outputFiles } = await esbuild.build({
      entryPoints: { script: join(folder, "main.tsx"), style: join(folder, "styles", "console.css") },
      outdir: folder,
      bundle: true,
      write: false,
      minify: true,
      format: "esm",
      target: "es2023",
      jsx: "automatic",
      jsxImportSource: "preact",
      legalComments: "none",
      logLevel: "silent",
    });
    const contentOf = (ending: string) => outputFiles.find(({ path }) => path.endsWith(ending))?.contents;
    return {
      kind: "built",
      script: assetOf("js", "text/javascript; charset=utf-8", contentOf(".js")),
      style: assetOf("css", "text/css; charset=utf-8", contentOf(".css")),
    };
  } catch (error) {
    return { kind: "broken", messages: await messagesOf(error) };
  } finally {
    await esbuild.stop();
  }
}

function assetOf(ending: string, contentType: string, bytes: Uint8Array = new Uint8Array()): Asset {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  return { name: `console-${hash}.${ending}`, contentType, bytes };
}

/** What esbuild says of the sources, with file and line; any other error by its own message. */
async function messagesOf(error: unknown): Promise<readonly string[]> {
  if (!(error instanceof Error)) return [String(error)];
  if (!("errors" in error)) return [error.message];
  const { formatMessages } = await import("esbuild");
  return formatMessages((error as BuildFailure).errors, { kind: "error" });
}
