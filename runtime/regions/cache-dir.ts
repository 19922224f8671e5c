import { homedir } from "node:os";
import { join } from "node:path";

/** Folder shared by all regions of this user: downloaded models, environments, compiled code. */
export function cacheDir(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "penstock");
}
