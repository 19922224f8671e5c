import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildImages } from "../../cli/images/build.ts";
import { applyObject } from "../../runtime/adapters/kube/apply.ts";
import type { KubeClient } from "../../runtime/adapters/kube/kube-client.ts";
import { type KubeObject, pathOf, type ResourceType } from "../../runtime/adapters/kube/objects.ts";
import { importImage } from "./images.ts";
import { connectToTestCluster, makeNamespace, until } from "./kube.ts";

const NAMESPACE = "test-images";
const PODS: ResourceType = { group: "", version: "v1", plural: "pods" };
/** What a cluster under the `restricted` standard asks of every pod. */
const RESTRICTED = {
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};
const ROOT = join(import.meta.dirname, "../..");
const scratch = mkdtempSync(join(tmpdir(), "penstock-images-"));
let client: KubeClient;
let endNamespace: () => Promise<void>;
const names = new Map<string, string>();

beforeAll(async () => {
  client = connectToTestCluster();
  endNamespace = await makeNamespace(client, NAMESPACE);
  const images = await buildImages({ root: ROOT, out: scratch, names: ["onnx", "gguf"], onProgress: () => {} });
  for (const image of images) {
    importImage(image.path);
    names.set(image.path.slice(scratch.length + 1, -".tar".length), image.name);
  }
});
afterAll(async () => {
  await endNamespace();
  client.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** Runs a Node program in a pod of an image to its end, and returns what it printed. */
async function runInPod(image: string, name: string, args: readonly string[]): Promise<string> {
  await applyObject(client, PODS, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      restartPolicy: "Never",
      containers: [{ name: "main", image: names.get(image), args, securityContext: RESTRICTED }],
    },
  } as KubeObject);
  let phase = "";
  await until(async () => {
    const pod = (await client.send({ method: "GET", path: pathOf(PODS, NAMESPACE, name) })) as {
      status?: { phase?: string };
    };
    phase = pod.status?.phase ?? "";
    return phase === "Succeeded" || phase === "Failed";
  });
  const printed = execFileSync("kubectl", ["logs", "-n", NAMESPACE, name], { encoding: "utf8" });
  expect({ phase, printed }).toMatchObject({ phase: "Succeeded" });
  return printed;
}

test("Penstock runs in its image as nobody that the node knows, on a root that it can't write", async () => {
  expect(await runInPod("onnx", "help", ["cli/penstock.ts", "--help"])).toContain("Usage: penstock");
});

test.each([
  [
    "onnx",
    "import('onnxruntime-node').then(({ InferenceSession }) => console.log(typeof InferenceSession.create))",
    "function",
  ],
  [
    "gguf",
    "import('node-llama-cpp').then(({ getLlama }) => getLlama({ gpu: false, build: 'never' })).then((llama) => console.log(llama.gpu))",
    "false",
  ],
])("the image for %s has what its engine loads", async (image, program, printed) => {
  expect((await runInPod(image, image, ["-e", program])).trim()).toBe(printed);
});
