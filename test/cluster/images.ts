import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ImageConfig, writeImage, writeLayer } from "../../runtime/packaging/image/oci.ts";
import { entryOf } from "../../runtime/packaging/image/tar.ts";
import { cacheDir } from "../mlflow/models-dir.ts";
import { CONTAINERD_SOCKET, PAUSE_IMAGE } from "./layout.ts";
import { programPath } from "./programs.ts";

const folder = join(cacheDir, "tools", "images");
const config: ImageConfig = {
  entrypoint: ["/pause"],
  env: { PATH: "/bin" },
  workingDir: "/",
  user: "65535:65535",
  labels: {},
};

/** The image that holds a pod's namespaces open, as an OCI archive; made from its program when it is not there. */
export async function pauseImage(): Promise<string> {
  const path = join(folder, "pause.tar");
  if (!existsSync(path)) {
    const layer = await writeLayer([await entryOf(programPath("pause"), "pause", 0o755)], folder);
    await writeImage(PAUSE_IMAGE, [layer], config, path);
  }
  return path;
}

/** Makes an image of an archive known to the node. */
export function importImage(path: string): void {
  execFileSync(programPath("ctr"), ["-a", CONTAINERD_SOCKET, "-n", "k8s.io", "images", "import", path], {
    stdio: ["ignore", "ignore", "pipe"],
  });
}
