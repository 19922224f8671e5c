import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { listFolder, type TarEntry } from "./tar.ts";

/** A package that an image carries, as the lockfile pins it. */
export interface LockedPackage {
  /** Where it lies, from the checkout's root. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** Hash of what the registry sent, as npm writes it; null where the lockfile has none. */
  readonly integrity: string | null;
}

interface Lockfile {
  readonly packages: Readonly<
    Record<
      string,
      { readonly version?: string; readonly integrity?: string; readonly dev?: boolean; readonly devOptional?: boolean }
    >
  >;
}

/** Files of packages that no program reads when it runs. */
const UNREAD = /\.(?:d\.[cm]?ts|map|md|markdown|flow|tsbuildinfo)$/;

/**
 * The packages that run in production and are installed here, in the order of their paths. What npm marks `devOptional` is
 * not among them: it is here as a tool, and what runs could use it but does without (of this checkout the compiler, 23 MB).
 */
export function productionPackages(root: string): readonly LockedPackage[] {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lockfile;
  return Object.entries(packages).flatMap(([path, { version, integrity = null, dev, devOptional }]) => {
    if (path === "" || version === undefined || dev || devOptional || !existsSync(join(root, path))) return [];
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    return [{ path, name, version, integrity }];
  });
}

/** A package's files as entries under `path` in an image. Packages inside it are packages of their own. */
export function listPackage(
  root: string,
  { path }: LockedPackage,
  below: string,
  keep: (relative: string) => boolean = () => true,
): Promise<readonly TarEntry[]> {
  return listFolder(join(root, path), `${below}/${path}`, (relative) => {
    return relative !== "node_modules" && !UNREAD.test(relative) && keep(relative);
  });
}
