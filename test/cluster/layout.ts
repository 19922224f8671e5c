import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where a test cluster keeps everything: short, for the paths of its sockets may hold 107 bytes. */
export const CLUSTER_DIR = join(tmpdir(), "penstock-cluster");

/** Addresses inside the cluster's own network namespace: nothing outside it sees them. */
export const NODE_IP = "10.99.0.1";
export const SERVICE_RANGE = "10.97.0.0/16";
/** The first address of the range, which Kubernetes gives to its API. */
export const API_SERVICE_IP = "10.97.0.1";
export const POD_RANGE = "10.244.7.0/24";
export const PORTS = { api: 6443, etcd: 2379, etcdPeer: 2380, kubelet: 10250, kubeletHealth: 10248 } as const;

export const NODE_NAME = "node-1";
/** Under this group of the machine's cgroups live all pods; ending a cluster removes it. */
export const CGROUP = "penstock-cluster";
/** Where the machine has its cgroups: a folder for each controller. */
export const CGROUPS = "/sys/fs/cgroup";
/** Every pod's first container. */
export const PAUSE_IMAGE = "penstock.local/pause:1";

export const API_URL = `https://${NODE_IP}:${PORTS.api}`;
/** What kubectl and clients read to reach the cluster as its administrator. */
export const KUBECONFIG = join(CLUSTER_DIR, "pki", "admin.kubeconfig");
export const CONTAINERD_SOCKET = join(CLUSTER_DIR, "containerd.sock");
/** Written once the node is ready; holds the seconds it took. */
export const READY_FILE = join(CLUSTER_DIR, "ready");
