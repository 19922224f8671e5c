import { applyObject } from "../../runtime/adapters/kube/apply.ts";
import { connectToCluster, type KubeClient } from "../../runtime/adapters/kube/kube-client.ts";
import { type KubeObject, pathOf, type ResourceType } from "../../runtime/adapters/kube/objects.ts";
import { customResourceDefinitions } from "../../runtime/contract/spec/kubernetes/crds.ts";
import { API_VERSION, GROUP } from "../../runtime/contract/spec/kubernetes/names.ts";

/** The type of one of Penstock's kinds. */
export const penstockType = (plural: string): ResourceType => ({ group: GROUP, version: API_VERSION, plural });
const CRDS: ResourceType = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
const NAMESPACES: ResourceType = { group: "", version: "v1", plural: "namespaces" };

/** The test cluster's administrator. Requires: this process runs inside the cluster's network. */
export const connectToTestCluster = (): KubeClient => connectToCluster(null);

/** Resolves once the condition holds; the test's own time-out is the bound. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Installs Penstock's resource definitions and waits until the server serves them. */
export async function installDefinitions(client: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions()) {
    await applyObject(client, CRDS, definition);
    await until(async () => {
      const { status } = (await client.send({ method: "GET", path: pathOf(CRDS, null, definition.metadata.name) })) as {
        status?: { conditions?: readonly { type: string; status: string }[] };
      };
      return status?.conditions?.some((one) => one.type === "Established" && one.status === "True") ?? false;
    });
  }
}

/** A namespace of a test's own, and how to end it. */
export async function makeNamespace(client: KubeClient, name: string): Promise<() => Promise<void>> {
  const namespace: KubeObject = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  await applyObject(client, NAMESPACES, namespace);
  return async () => void (await client.send({ method: "DELETE", path: pathOf(NAMESPACES, null, name) }));
}
