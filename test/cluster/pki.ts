import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { API_SERVICE_IP, API_URL, NODE_IP, NODE_NAME } from "./layout.ts";

/** A cluster lives minutes. */
const DAYS = "2";
/** Who may call the API by a token: name in the kubeconfig, user, group. */
const USERS: readonly (readonly [name: string, user: string, group?: string])[] = [
  ["admin", "admin", "system:masters"],
  ["controller-manager", "system:kube-controller-manager"],
  ["scheduler", "system:kube-scheduler"],
  ["node", `system:node:${NODE_NAME}`, "system:nodes"],
  ["proxy", "system:kube-proxy"],
];

/** Makes the certificates, the keys, the tokens and a kubeconfig per user in a folder. Tokens are good for the test cluster only. */
export function makePki(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const openssl = (...args: string[]): void =>
    void execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...NEW_KEY,
    "-keyout",
    "ca.key",
    "-out",
    "ca.crt",
    "-subj",
    "/CN=penstock-test",
    "-days",
    DAYS,
  );
  openssl("genrsa", "-out", "service-account.key", "2048");
  openssl("rsa", "-in", "service-account.key", "-pubout", "-out", "service-account.pub");
  const certify = (name: string, subject: string, usage: string, hosts: string): void => {
    writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${hosts}\nextendedKeyUsage=${usage}\n`);
    openssl("req", ...NEW_KEY, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", subject);
    const signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", DAYS, "-extfile", `${name}.ext`];
    openssl("x509", "-req", "-in", `${name}.csr`, "-out", `${name}.crt`, ...signed);
  };
  const names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(
    (name) => `DNS:${name}`,
  );
  const addresses = ["127.0.0.1", NODE_IP, API_SERVICE_IP].map((address) => `IP:${address}`);
  certify("api", "/CN=kube-apiserver", "serverAuth", [...addresses, ...names].join(","));
  certify("kubelet-client", "/O=system:masters/CN=apiserver-kubelet-client", "clientAuth", "DNS:apiserver");
  certify("kubelet", `/CN=${NODE_NAME}`, "serverAuth", `IP:${NODE_IP},DNS:${NODE_NAME}`);
  const tokens = USERS.map(([name, user, group]) => `${token(name)},${user},${name}${group ? `,${group}` : ""}\n`);
  writeFileSync(join(folder, "tokens.csv"), tokens.join(""));
  for (const [name] of USERS)
    writeFileSync(join(folder, `${name}.kubeconfig`), kubeconfig(name, join(folder, "ca.crt")));
}

/** The token by which a user of the cluster calls its API. */
export const token = (name: string): string => `test-${name}`;

function kubeconfig(name: string, authority: string): string {
  return `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "${API_URL}", certificate-authority: ${authority}}}]
users: [{name: ${name}, user: {token: ${token(name)}}}]
contexts: [{name: test, context: {cluster: test, user: ${name}}}]
current-context: test
`;
}
