import { join } from "node:path";
import { CGROUP, CLUSTER_DIR, CONTAINERD_SOCKET, NODE_IP, NODE_NAME, PAUSE_IMAGE, POD_RANGE, PORTS } from "./layout.ts";

const at = (...path: string[]): string => join(CLUSTER_DIR, ...path);

/** The settings files of a cluster's programs by name, as text. `cniDir` is the folder that holds the CNI plugins. */
export function renderConfig(cniDir: string): Readonly<Record<string, string>> {
  return {
    "containerd.toml": containerd(cniDir),
    "cni/10-pods.conflist": podNetwork(),
    "kubelet.yaml": kubelet(),
    "kube-proxy.yaml": kubeProxy(),
    "resolv.conf": "",
  };
}

function containerd(cniDir: string): string {
  return `version = 3
root = "${at("containerd")}"
state = "${at("containerd-state")}"
disabled_plugins = ["io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[grpc]
  address = "${CONTAINERD_SOCKET}"
[ttrpc]
  address = "${CONTAINERD_SOCKET}.ttrpc"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "${PAUSE_IMAGE}"
[plugins.'io.containerd.cri.v1.runtime']
  # Without the right to lower a score, runc ends at once when it is told to.
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["${cniDir}"]
    conf_dir = "${at("cni")}"
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        SystemdCgroup = false
`;
}

function podNetwork(): string {
  return JSON.stringify({
    cniVersion: "1.0.0",
    name: "pods",
    plugins: [
      {
        type: "bridge",
        bridge: "pods0",
        isGateway: true,
        ipMasq: true,
        hairpinMode: true,
        ipam: {
          type: "host-local",
          dataDir: at("cni-addresses"),
          ranges: [[{ subnet: POD_RANGE }]],
          routes: [{ dst: "0.0.0.0/0" }],
        },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  });
}

function kubelet(): string {
  return `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /${CGROUP}
failSwapOn: false
containerRuntimeEndpoint: unix://${CONTAINERD_SOCKET}
address: ${NODE_IP}
port: ${PORTS.kubelet}
readOnlyPort: 0
healthzBindAddress: 127.0.0.1
healthzPort: ${PORTS.kubeletHealth}
tlsCertFile: ${at("pki", "kubelet.crt")}
tlsPrivateKeyFile: ${at("pki", "kubelet.key")}
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: ${at("pki", "ca.crt")}}
authorization: {mode: Webhook}
resolvConf: ${at("resolv.conf")}
podLogsDir: ${at("log", "pods")}
volumePluginDir: ${at("kubelet", "volumeplugins")}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: "1%", nodefs.inodesFree: "1%", imagefs.available: "1%", imagefs.inodesFree: "1%"}
serializeImagePulls: false
maxPods: 60
`;
}

function kubeProxy(): string {
  return `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
bindAddress: ${NODE_IP}
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
hostnameOverride: ${NODE_NAME}
clientConnection: {kubeconfig: ${at("pki", "proxy.kubeconfig")}}
clusterCIDR: ${POD_RANGE}
conntrack: {maxPerCore: 0, min: 0}
iptables: {syncPeriod: 30s, minSyncPeriod: 0s}
`;
}
