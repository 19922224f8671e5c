/**
 * The inside of a test cluster: runs in network, process and mount namespaces of its own, in which it starts a control
 * plane and a node in order, and says so. When it ends, the kernel ends all that it started. Usage: by cluster.ts.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { renderConfig } from "./config.ts";
import { importImage, pauseImage } from "./images.ts";
import {
  API_URL,
  CGROUP,
  CGROUPS,
  CLUSTER_DIR,
  CONTAINERD_SOCKET,
  NODE_IP,
  NODE_NAME,
  PORTS,
  READY_FILE,
  SERVICE_RANGE,
} from "./layout.ts";
import { makePki, token } from "./pki.ts";
import { programPath } from "./programs.ts";

const POLL_MS = 50;
const startedMs = performance.now();
const at = (...path: string[]): string => join(CLUSTER_DIR, ...path);
const pki = (name: string): string => at("pki", name);
const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const told = (step: string): void => console.log(`${((performance.now() - startedMs) / 1_000).toFixed(1)} s  ${step}`);

isolateMounts();
makeNetwork();
makeGroups();
makePki(at("pki"));
for (const [name, text] of Object.entries(renderConfig(dirname(programPath("bridge"))))) {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
}
const etcd = start("etcd", etcdFlags());
const containerd = start("containerd", ["-c", at("containerd.toml")]);
const api = start("kube-apiserver", apiFlags());
await until("the API is ready", api, async () => (await askApi("/readyz")) !== null);
const controllerManager = start("kube-controller-manager", [
  ...authenticatedBy("controller-manager"),
  `--service-account-private-key-file=${pki("service-account.key")}`,
  `--root-ca-file=${pki("ca.crt")}`,
  "--use-service-account-credentials=true",
  "--leader-elect=false",
  "--bind-address=127.0.0.1",
  `--cert-dir=${at("controller-manager")}`,
  "--controllers=*,-cloud-node-lifecycle-controller",
]);
const scheduler = start("kube-scheduler", [
  ...authenticatedBy("scheduler"),
  "--leader-elect=false",
  "--bind-address=127.0.0.1",
  `--cert-dir=${at("scheduler")}`,
]);
const ctr = (...args: string[]): string => run(programPath("ctr"), "-a", CONTAINERD_SOCKET, "-n", "k8s.io", ...args);
await until("containerd answers", containerd, async () => {
  try {
    ctr("version");
    return true;
  } catch {
    return false;
  }
});
importImage(await pauseImage());
const kubelet = start("kubelet", [
  `--config=${at("kubelet.yaml")}`,
  `--kubeconfig=${pki("node.kubeconfig")}`,
  `--root-dir=${at("kubelet")}`,
  `--cert-dir=${at("kubelet-certificates")}`,
  `--hostname-override=${NODE_NAME}`,
  `--node-ip=${NODE_IP}`,
]);
const proxy = start("kube-proxy", [`--config=${at("kube-proxy.yaml")}`]);
await until("the node is ready", kubelet, async () => {
  const node = (await askApi(`/api/v1/nodes/${NODE_NAME}`)) as NodeObject | null;
  return node?.status.conditions.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
});
await until("pods may be made", controllerManager, async () => {
  return (await askApi("/api/v1/namespaces/default/serviceaccounts/default")) !== null;
});
writeFileSync(READY_FILE, ((performance.now() - startedMs) / 1_000).toFixed(1));
told("ready");
for (const child of [etcd, containerd, api, controllerManager, scheduler, kubelet, proxy]) {
  child.on("exit", () => told(`${child.spawnfile} has ended`));
}

interface NodeObject {
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

/** Folders that the programs write outside their own: empty ones of the cluster's stand in for the machine's. */
function isolateMounts(): void {
  run("mount", "--make-rprivate", "/");
  for (const path of ["/run", "/var/lib/kubelet", "/var/lib/cni", "/var/log/containers", "/var/log/pods"]) {
    mkdirSync(path, { recursive: true });
    run("mount", "-t", "tmpfs", "tmpfs", path);
  }
  mkdirSync("/run/lock", { recursive: true });
}

/** The node's address is that of a bridge: a loopback one is no node's, and the kernel may have no dummy device. */
function makeNetwork(): void {
  run("ip", "link", "set", "lo", "up");
  run("ip", "link", "add", "node0", "type", "bridge");
  run("ip", "address", "add", `${NODE_IP}/32`, "dev", "node0");
  run("ip", "link", "set", "node0", "up");
  writeFileSync("/proc/sys/net/ipv4/ip_forward", "1");
}

/** The group that all pods are in, under each of the machine's controllers; ending the cluster removes it. */
function makeGroups(): void {
  for (const controller of readdirSync(CGROUPS)) {
    const folder = join(CGROUPS, controller, CGROUP);
    mkdirSync(folder, { recursive: true });
    // No process enters a group whose cores and memory nodes are not said.
    for (const name of ["cpuset.cpus", "cpuset.mems"]) {
      const parent = join(CGROUPS, controller, name);
      if (existsSync(parent)) writeFileSync(join(folder, name), readFileSync(parent));
    }
  }
}

function start(name: string, args: readonly string[]): ChildProcess {
  mkdirSync(at("log"), { recursive: true });
  const log = openSync(at("log", `${name}.log`), "a");
  const program = programPath(name);
  // containerd finds its shim, which lies beside it, by the path.
  const env = { ...process.env, PATH: `${dirname(program)}:${process.env.PATH}` };
  const child = spawn(program, args, { stdio: ["ignore", log, log], env });
  writeFileSync(at(`${name}.pid`), String(child.pid));
  return child;
}

/** Waits for a condition as long as the program that brings it about runs. Errors: it has ended, with its last lines. */
async function until(step: string, child: ChildProcess, holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    if (child.exitCode !== null || child.signalCode !== null) {
      const name = child.spawnfile.slice(child.spawnfile.lastIndexOf("/") + 1);
      const log = existsSync(at("log", `${name}.log`)) ? readFileSync(at("log", `${name}.log`), "utf8") : "";
      throw new Error(`${name} ended before ${step}:\n${log.split("\n").slice(-20).join("\n")}`);
    }
    await sleep(POLL_MS);
  }
  told(step);
}

/** What the API answers to the administrator as JSON or text, or null where it does not answer with 200. */
function askApi(path: string): Promise<unknown> {
  const ca = readFileSync(pki("ca.crt"));
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token("admin")}` };
    const asked = request(`${API_URL}${path}`, { ca, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (more: string) => {
        text += more;
      });
      answer.on("end", () => {
        if (answer.statusCode !== 200) return resolve(null);
        resolve(text.startsWith("{") ? JSON.parse(text) : text);
      });
    });
    asked.on("error", () => resolve(null));
    asked.end();
  });
}

function authenticatedBy(user: string): readonly string[] {
  const file = pki(`${user}.kubeconfig`);
  return ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"].map((flag) => `${flag}=${file}`);
}

function etcdFlags(): readonly string[] {
  const client = `http://127.0.0.1:${PORTS.etcd}`;
  const peer = `http://127.0.0.1:${PORTS.etcdPeer}`;
  return [
    `--data-dir=${at("etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    "--unsafe-no-fsync",
  ];
}

function apiFlags(): readonly string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${PORTS.etcd}`,
    `--secure-port=${PORTS.api}`,
    `--bind-address=${NODE_IP}`,
    `--advertise-address=${NODE_IP}`,
    `--tls-cert-file=${pki("api.crt")}`,
    `--tls-private-key-file=${pki("api.key")}`,
    `--client-ca-file=${pki("ca.crt")}`,
    `--kubelet-client-certificate=${pki("kubelet-client.crt")}`,
    `--kubelet-client-key=${pki("kubelet-client.key")}`,
    `--kubelet-certificate-authority=${pki("ca.crt")}`,
    "--kubelet-preferred-address-types=InternalIP",
    `--service-account-key-file=${pki("service-account.pub")}`,
    `--service-account-signing-key-file=${pki("service-account.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--token-auth-file=${pki("tokens.csv")}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    "--allow-privileged=true",
  ];
}
