import { MANAGER, MARKS } from "../../contract/spec/kubernetes/names.ts";
import { endpointOfVersion } from "../../domain/names.ts";
import type { ReplicaSet } from "../../domain/replica.ts";
import type { Version } from "../../domain/version.ts";
import type { KubeObject, OwnerReference } from "./objects.ts";

/** What a pod of a version is made of, but for labels. */
export interface PodTemplate {
  readonly annotations?: Readonly<Record<string, string>>;
  /** A PodSpec; its container named MAIN_CONTAINER serves. */
  readonly spec: object;
}

/** The container of a pod that serves. */
export const MAIN_CONTAINER = "engine";

/** How the Deployments of a region are made. */
export interface DeploymentOptions {
  readonly namespace: string;
  readonly template: (version: Version) => PodTemplate;
  /** What the Deployments end with; null: nothing. */
  readonly owner: OwnerReference | null;
}

/**
 * The Deployment of a version. It never rolls: another template is another version, with a Deployment of its own, and
 * traffic moves between them. `epoch`: of the leader that writes it.
 */
export function deploymentOf(
  set: ReplicaSet,
  epoch: number,
  options: DeploymentOptions,
): KubeObject & { spec: object } {
  const { id } = set.version;
  const { annotations = {}, spec } = options.template(set.version);
  const labels = { [MARKS.managedBy]: MANAGER, [MARKS.endpoint]: endpointOfVersion(id), [MARKS.version]: id };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: id,
      namespace: options.namespace,
      labels,
      annotations: { [MARKS.epoch]: String(epoch) },
      ...(options.owner === null ? {} : { ownerReferences: [options.owner] }),
    },
    spec: {
      replicas: set.replicas.length,
      // One is enough: nothing is ever rolled back within a Deployment.
      revisionHistoryLimit: 0,
      strategy: { type: "Recreate" },
      selector: { matchLabels: { [MARKS.version]: id } },
      template: { metadata: { labels, annotations }, spec },
    },
  };
}
