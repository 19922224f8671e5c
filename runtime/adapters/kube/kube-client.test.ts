import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectToCluster, type KubeClient } from "./kube-client.ts";

let scratch: string;
let server: Server;
let client: KubeClient | null = null;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const kubeconfigBefore = process.env.KUBECONFIG;

/** A certificate that names its holder, signed by itself. */
function certify(holder: string): void {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", `${holder}.key`];
  const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"];
  const args = ["req", "-x509", ...key, "-out", `${holder}.crt`, "-subj", `/CN=${holder}`, "-days", "2", ...names];
  execFileSync("openssl", args, { cwd: scratch, stdio: ["ignore", "ignore", "pipe"] });
}

/** Makes a server listen and a kubeconfig that leads to it. */
async function listen(host: string, user = "{token: secret}"): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  connect(`https://${host.includes(":") ? `[${host}]` : host}:${port}`, user);
}

function connect(address: string, user = "{token: secret}"): void {
  const file = join(scratch, "kubeconfig");
  writeFileSync(
    file,
    `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "${address}", certificate-authority: ${join(scratch, "server.crt")}}}]
users: [{name: test, user: ${user}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`,
  );
  process.env.KUBECONFIG = file;
  client = connectToCluster(null);
}

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "penstock-kube-client-"));
  certify("server");
  const read = (name: string): Buffer => readFileSync(join(scratch, name));
  server = createServer(
    { key: read("server.key"), cert: read("server.crt"), requestCert: true, rejectUnauthorized: false },
    (request, response) => answer(request, response),
  );
});
afterEach(async () => {
  client?.close();
  client = null;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(scratch, { recursive: true, force: true });
  if (kubeconfigBefore === undefined) delete process.env.KUBECONFIG;
  else process.env.KUBECONFIG = kubeconfigBefore;
});

test.each(["127.0.0.1", "::1"])("a server at %s is reached, with the user's token", async (host) => {
  answer = (request, response) => response.end(JSON.stringify({ token: request.headers.authorization }));
  await listen(host);
  expect(await client!.send({ method: "GET", path: "/version" })).toEqual({ token: "Bearer secret" });
});

test("a refusal has Kubernetes' own reason and how long to wait; one that is no JSON is told as it is, but for its length", async () => {
  answer = ({ url }, response) => {
    response.writeHead(429, { "retry-after": "7" });
    response.end(url === "/short" ? '{"reason":"TooManyRequests","message":"later"}' : "x".repeat(1_000_000));
  };
  await listen("127.0.0.1");
  const error = { name: "KubeError", status: 429, retryAfterSeconds: 7 };
  await expect(client!.send({ method: "GET", path: "/short" })).rejects.toMatchObject({
    ...error,
    reason: "TooManyRequests",
    message: "later",
  });
  await expect(client!.send({ method: "GET", path: "/long" })).rejects.toMatchObject({
    ...error,
    message: "x".repeat(65_536),
  });
});

test("the lines of a stream come whole however they are cut, and one without end is an error", async () => {
  const lines = [{ text: "é".repeat(100_000) }, { n: 2 }, { n: 3 }];
  answer = ({ url }, response) => {
    if (url === "/endless") return void response.end("x".repeat(7 * 1024 * 1024));
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    for (let at = 0; at < bytes.length; at += 9_973) response.write(bytes.subarray(at, at + 9_973));
    response.end();
  };
  await listen("127.0.0.1");
  const taken: unknown[] = [];
  await client!.stream({ method: "GET", path: "/lines" }, 10_000, (line) => taken.push(line));
  expect(taken).toEqual(lines);
  await expect(client!.stream({ method: "GET", path: "/endless" }, 10_000, () => {})).rejects.toThrow(
    "a line of /endless is over",
  );
});

test("a stream that falls silent is an error, and so is one whose server goes away", async () => {
  answer = ({ url, socket }, response) => {
    response.write('{"n":1}\n');
    if (url === "/gone") socket.end();
  };
  await listen("127.0.0.1");
  await expect(client!.stream({ method: "GET", path: "/silent" }, 200, () => {})).rejects.toThrow("no word from");
  await expect(client!.stream({ method: "GET", path: "/gone" }, 10_000, () => {})).rejects.toThrow();
});

test("an abort ends a request that waits for its answer", async () => {
  answer = () => {};
  await listen("127.0.0.1");
  const stop = new AbortController();
  const sent = client!.send({ method: "GET", path: "/", signal: stop.signal });
  stop.abort();
  await expect(sent).rejects.toThrow(/abort/i);
});

test("a client certificate that is renewed in its file is used from the next request on", async () => {
  answer = (request, response) =>
    response.end(JSON.stringify({ user: (request.socket as TLSSocket).getPeerCertificate().subject.CN }));
  for (const name of ["first", "second"]) certify(name);
  const use = (name: string): void => {
    for (const kind of ["crt", "key"]) {
      writeFileSync(join(scratch, `user.${kind}`), readFileSync(join(scratch, `${name}.${kind}`)));
    }
  };
  use("first");
  await listen(
    "127.0.0.1",
    `{client-certificate: ${join(scratch, "user.crt")}, client-key: ${join(scratch, "user.key")}}`,
  );
  expect(await client!.send({ method: "GET", path: "/" })).toEqual({ user: "first" });
  use("second");
  expect(await client!.send({ method: "GET", path: "/" })).toEqual({ user: "second" });
});

test("a server that speaks without TLS is refused in plain words, before a token is sent to it", () => {
  expect(() => connect("http://127.0.0.1:8001")).toThrow("is not an https:// address");
});

test.each([
  ["isn't there", null],
  ["is no kubeconfig", "clusters: [not closed"],
])("a kubeconfig that %s is told in plain words", (_how, text) => {
  const file = join(scratch, "broken");
  if (text !== null) writeFileSync(file, text);
  process.env.KUBECONFIG = file;
  expect(() => connectToCluster(null)).toThrow("The kubeconfig can't be read");
});
