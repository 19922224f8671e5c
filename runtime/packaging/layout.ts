import { join } from "node:path";

/** Folder that holds the files of an artifact: a snapshot that nobody changes. */
export function artifactDir(dataDir: string, digest: string): string {
  return join(dataDir, "artifacts", digest);
}

/** Folder of a locked environment as a region sees it: a link into the cache, `bin/python` inside. */
export function environmentDir(dataDir: string, environmentHash: string): string {
  return join(dataDir, "environments", environmentHash);
}
