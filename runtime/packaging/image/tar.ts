import { createReadStream } from "node:fs";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { type Pack, pack } from "tar-stream";

/** One thing in an archive. `path` has no slash at its start. */
export type TarEntry =
  | { readonly kind: "folder"; readonly path: string; readonly mode: number }
  | { readonly kind: "link"; readonly path: string; readonly target: string }
  | { readonly kind: "text"; readonly path: string; readonly mode: number; readonly text: string | Uint8Array }
  | {
      readonly kind: "file";
      readonly path: string;
      readonly mode: number;
      readonly source: string;
      readonly sizeBytes: number;
    };

/** The same for every build, so that the same content has the same digest. */
const EPOCH = new Date(0);
const OWNER = { uid: 0, gid: 0, mtime: EPOCH } as const;

/**
 * The entries of a folder and all below it, under `path` in the archive, in the order of their names. `keep` leaves out
 * what it answers false for (paths from the folder). Sockets and devices are left out.
 * Errors: a link that leads out of the folder, for in the archive it would lead nowhere; those of the file system.
 */
export async function listFolder(
  folder: string,
  path: string,
  keep: (relative: string) => boolean = () => true,
): Promise<readonly TarEntry[]> {
  const entries: TarEntry[] = [];
  const walk = async (relative: string): Promise<void> => {
    for (const name of (await readdir(join(folder, relative))).sort()) {
      const below = relative === "" ? name : `${relative}/${name}`;
      if (!keep(below)) continue;
      const source = join(folder, below);
      const stat = await lstat(source);
      const inside = path === "" ? below : `${path}/${below}`;
      if (stat.isSymbolicLink()) {
        const target = await readlink(source);
        if (isAbsolute(target) || join(below, "..", target).split("/")[0] === "..") {
          throw new Error(`the link ${source} leads out of ${folder}, to ${target}`);
        }
        entries.push({ kind: "link", path: inside, target });
      } else if (stat.isDirectory()) {
        entries.push({ kind: "folder", path: inside, mode: 0o755 });
        await walk(below);
      } else if (stat.isFile()) {
        const mode = (stat.mode & 0o111) !== 0 ? 0o755 : 0o644;
        entries.push({ kind: "file", path: inside, mode, source, sizeBytes: stat.size });
      }
    }
  };
  await walk("");
  return entries;
}

/**
 * Writes entries as a tar archive: owner, times and order do not depend on the machine. Folders that hold an entry and are
 * not entries themselves are made. Errors: a file that changed its size while it was read.
 */
export function packTar(entries: Iterable<TarEntry>): Pack {
  const archive = pack();
  void fill(archive, entries).then(
    () => archive.finalize(),
    (error: Error) => archive.destroy(error),
  );
  return archive;
}

async function fill(archive: Pack, entries: Iterable<TarEntry>): Promise<void> {
  const folders = new Set<string>();
  for (const entry of entries) {
    for (const folder of foldersOf(entry.path)) {
      if (folders.has(folder)) continue;
      folders.add(folder);
      archive.entry({ ...OWNER, name: `${folder}/`, type: "directory", mode: 0o755 });
    }
    if (entry.kind === "folder") {
      if (!folders.has(entry.path))
        archive.entry({ ...OWNER, name: `${entry.path}/`, type: "directory", mode: entry.mode });
      folders.add(entry.path);
    } else if (entry.kind === "link") {
      archive.entry({ ...OWNER, name: entry.path, type: "symlink", linkname: entry.target, mode: 0o777 });
    } else if (entry.kind === "text") {
      archive.entry({ ...OWNER, name: entry.path, mode: entry.mode }, Buffer.from(entry.text));
    } else {
      await copyFile(archive, entry);
    }
  }
}

/** Resolves once the file is in the archive. */
function copyFile(archive: Pack, { path, mode, source, sizeBytes }: TarEntry & { kind: "file" }): Promise<void> {
  return new Promise((resolve, reject) => {
    const sink = archive.entry({ ...OWNER, name: path, mode, size: sizeBytes }, (error) => {
      if (error) reject(error);
      else resolve();
    });
    const file = createReadStream(source);
    file.on("error", reject);
    sink.on("error", reject);
    file.pipe(sink);
  });
}

function* foldersOf(path: string): Generator<string> {
  for (let at = path.indexOf("/"); at > 0; at = path.indexOf("/", at + 1)) yield path.slice(0, at);
}

/** A small file as an entry. Errors: those of the file system. */
export async function entryOf(source: string, path: string, mode: number): Promise<TarEntry> {
  return { kind: "text", path, mode, text: await readFile(source) };
}
