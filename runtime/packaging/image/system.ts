import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { entryOf, type TarEntry } from "./tar.ts";

/** Who an image's programs run as: nobody that a node knows. */
export const IMAGE_USER = { uid: 65_532, gid: 65_532, name: "penstock" } as const;
/** Where Debian and most others keep the authorities that are trusted. */
const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";

/**
 * The shared libraries that programs need, by the path at which the loader looks for them; found by `ldd`, which is to say
 * those of the machine that builds. Errors: a program that needs a library this machine lacks.
 */
function sharedLibraries(programs: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const program of programs) {
    for (const line of execFileSync("ldd", [program], { encoding: "utf8" }).split("\n")) {
      if (line.includes("not found")) throw new Error(`${program} needs ${line.trim()}`);
      const path = /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1];
      if (path !== undefined) found.add(path);
    }
  }
  return [...found].sort();
}

/**
 * The bottom of an image: a Node, the libraries of the system that it and `programs` need, whom to trust, and a user; no
 * shell. Libraries under `own` are the programs' own and lie in a layer above.
 */
export async function systemEntries(
  node: string,
  programs: readonly string[],
  own: string,
): Promise<readonly TarEntry[]> {
  const { uid, gid, name } = IMAGE_USER;
  const text = (path: string, content: string): TarEntry => ({ kind: "text", path, mode: 0o644, text: content });
  const libraries = sharedLibraries([node, ...programs]).filter((path) => !path.startsWith(`${own}/`));
  return [
    text("etc/group", `root:x:0:\n${name}:x:${gid}:\n`),
    text("etc/passwd", `root:x:0:0:root:/:/none\n${name}:x:${uid}:${gid}:${name}:/tmp:/none\n`),
    ...(existsSync(AUTHORITIES) ? [await entryOf(realpathSync(AUTHORITIES), AUTHORITIES.slice(1), 0o644)] : []),
    ...(await Promise.all(libraries.map((path) => entryOf(realpathSync(path), path.slice(1), 0o755)))),
    { kind: "folder", path: "tmp", mode: 0o1777 },
    await entryOf(realpathSync(node), "usr/local/bin/node", 0o755),
  ];
}
