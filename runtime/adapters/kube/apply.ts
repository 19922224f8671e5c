import { MANAGER } from "../../contract/spec/kubernetes/names.ts";
import { type KubeClient, KubeError } from "./kube-client.ts";
import { type KubeObject, pathOf, type ResourceType } from "./objects.ts";

/**
 * Makes an object what is written, or its status: fields that this manager wrote before and leaves out now are taken away,
 * those of others stay. `force` takes over a field that another manager holds. Returns the object as the server holds it.
 * Errors: KubeError, `Conflict` where another manager holds a field and `force` is false.
 */
export async function applyObject<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType,
  object: T,
  options: { readonly force?: boolean; readonly subresource?: "status" } = {},
): Promise<T> {
  const { name, namespace } = object.metadata;
  const path = pathOf(type, namespace ?? null, name);
  return (await client.send({
    method: "PATCH",
    path: options.subresource === undefined ? path : `${path}/${options.subresource}`,
    query: { fieldManager: MANAGER, force: options.force ?? false, fieldValidation: "Strict" },
    contentType: "application/apply-patch+yaml",
    body: object,
  })) as T;
}

/** Deletes an object, if it is there. Its dependents are deleted after it. */
export async function deleteObject(
  client: KubeClient,
  type: ResourceType,
  meta: { readonly name: string; readonly namespace?: string },
): Promise<void> {
  try {
    await client.send({
      method: "DELETE",
      path: pathOf(type, meta.namespace ?? null, meta.name),
      body: { propagationPolicy: "Background" },
    });
  } catch (error) {
    if (!(error instanceof KubeError && error.status === 404)) throw error;
  }
}
