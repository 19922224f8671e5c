import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { UserError } from "../../runtime/core/errors.ts";
import { runProgram } from "../../runtime/packaging/run-program.ts";
import { cacheDir } from "../mlflow/models-dir.ts";

/** A set of Go programs that are built from one module of `programs/`, each named by the last part of its package. */
interface Module {
  readonly name: string;
  readonly packages: readonly string[];
  readonly flags: readonly string[];
  /** What the first of the programs is called, where its package's name does not say it. */
  readonly rename?: string;
}

const KUBERNETES = "v1.36.3";
const CONTAINERD = "2.3.7";
const stamp = (name: string, value: string): string => `-X ${name}=${value}`;

const MODULES: readonly Module[] = [
  { name: "pause", packages: ["penstock.dev/test/cluster/pause"], flags: ["-ldflags=-s -w"] },
  { name: "etcd", packages: ["go.etcd.io/etcd/server/v3"], flags: ["-ldflags=-s -w"], rename: "etcd" },
  {
    name: "cni",
    packages: ["ipam/host-local", "main/bridge", "main/loopback", "meta/portmap"].map(
      (path) => `github.com/containernetworking/plugins/plugins/${path}`,
    ),
    flags: ["-ldflags=-s -w"],
  },
  {
    name: "containerd",
    packages: ["containerd", "containerd-shim-runc-v2", "ctr"].map(
      (name) => `github.com/containerd/containerd/v2/cmd/${name}`,
    ),
    flags: [
      "-tags=no_btrfs no_devmapper no_zfs",
      `-ldflags=-s -w ${stamp("github.com/containerd/containerd/v2/version.Version", CONTAINERD)}`,
    ],
  },
  {
    name: "kubernetes",
    packages: ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"].map(
      (name) => `k8s.io/kubernetes/cmd/${name}`,
    ),
    flags: [
      `-ldflags=-s -w ${[
        stamp("k8s.io/component-base/version.gitVersion", KUBERNETES),
        stamp("k8s.io/component-base/version.gitMajor", "1"),
        stamp("k8s.io/component-base/version.gitMinor", KUBERNETES.split(".")[1]!),
      ].join(" ")}`,
    ],
  },
];

const SOURCES = join(import.meta.dirname, "programs");
/** How env(1) ends where there is no such program. */
const NOT_FOUND = 127;
const program = (module: Module, path: string): string => module.rename ?? path.slice(path.lastIndexOf("/") + 1);

/** Named by all that goes into the programs, so that a change of any builds anew and nothing else does. */
function binDir(module: Module): string {
  const hash = createHash("sha256").update(JSON.stringify([module, process.arch]));
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(SOURCES, module.name, file)));
  return join(cacheDir, "tools", module.name, hash.digest("hex").slice(0, 16), "bin");
}

/** The folders that together hold every program of a cluster, or null where `test/tools.ts` has not built them yet. */
export function findPrograms(): readonly string[] | null {
  const folders = MODULES.map(binDir);
  return folders.every((folder) => existsSync(folder)) ? folders : null;
}

/** Where one program is. Requires: they are built. */
export function programPath(name: string): string {
  for (const folder of findPrograms() ?? []) {
    if (existsSync(join(folder, name))) return join(folder, name);
  }
  throw new UserError(
    "PENSTOCK_CLUSTER_NOT_BUILT",
    `${name}, which a test cluster runs, is not built`,
    "run `npm run tools` (once, about 10 minutes with Go 1.26 or later) and try again",
  );
}

interface BuildContext {
  readonly signal: AbortSignal;
  onProgress(doing: string): void;
}

/** Builds the programs that are not built yet; each module's are there whole or not at all. Errors: UserError with Go's own words, or where there is no Go. */
export async function buildPrograms({ signal, onProgress }: BuildContext): Promise<void> {
  for (const [index, module] of MODULES.entries()) {
    const bin = binDir(module);
    if (existsSync(bin)) continue;
    onProgress(`building ${module.name} (${index + 1} of ${MODULES.length})`);
    await mkdir(dirname(dirname(bin)), { recursive: true });
    const building = await mkdtemp(`${dirname(bin)}.building-`);
    try {
      for (const path of module.packages) {
        const flags = ["-trimpath", "-buildvcs=false", "-mod=readonly", ...module.flags];
        const out = join(building, "bin", program(module, path));
        const go = ["-C", join(SOURCES, module.name), "build", ...flags, "-o", out, path];
        const ended = await runProgram("env", ["CGO_ENABLED=0", "go", ...go], signal);
        if (ended.code === NOT_FOUND) {
          throw new UserError(
            "PENSTOCK_NO_GO",
            "there is no Go, which builds a test cluster's programs",
            "install Go 1.26 or later",
          );
        }
        if (ended.code !== 0) {
          const todo = "look at Go's words above: what it built is kept, so that another try goes on from there";
          throw new UserError("PENSTOCK_BUILD_FAILED", `go ${go.join(" ")}:\n${ended.stderr.trim()}`, todo);
        }
      }
      await mkdir(dirname(bin), { recursive: true });
      await rename(join(building, "bin"), bin);
    } finally {
      await rm(building, { recursive: true, force: true });
    }
  }
}
