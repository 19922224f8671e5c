import { chmodSync, lstatSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeFolder } from "../adapters/make-folder.ts";
import { sha256Hex } from "../core/canonical.ts";
import { UserError } from "../core/errors.ts";

/** Longest path of a unix socket: `sun_path` has 108 bytes on Linux and 104 on macOS, with its ending zero. */
const MAX_SOCKET_PATH_BYTES = 103;

/** Paths of a region's unix sockets. */
export interface SocketPaths {
  readonly controller: string;
  readonly api: string;
}

/**
 * Makes the folder of a region's sockets, which only its user may enter: `run` in the data folder, or, where that path
 * is too long for a socket, one in the system's folder for temporary files named by the data folder's hash.
 * Errors: UserError where somebody else owns that folder.
 */
export function makeSocketPaths(dataDir: string, temporaryDir: string = tmpdir()): SocketPaths {
  const inside = pathsIn(join(dataDir, "run"));
  if (Buffer.byteLength(inside.controller) <= MAX_SOCKET_PATH_BYTES) {
    makeFolder(join(dataDir, "run"), 0o700);
    return inside;
  }
  const short = join(temporaryDir, `penstock-${sha256Hex(dataDir).slice(0, 12)}`);
  makeFolder(short, 0o700);
  const { uid } = lstatSync(short);
  if (uid !== (process.getuid?.() ?? uid) || !lstatSync(short).isDirectory()) {
    throw new UserError(
      "PENSTOCK_SOCKET_FOLDER_TAKEN",
      `${short} belongs to another user`,
      "Remove it, or choose a data folder with a shorter path (--data-dir).",
    );
  }
  chmodSync(short, 0o700);
  return pathsIn(short);
}

function pathsIn(folder: string): SocketPaths {
  return { controller: join(folder, "controller.sock"), api: join(folder, "api.sock") };
}
