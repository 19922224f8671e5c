/** What every object of a Kubernetes API has; the rest is the kind's own. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** The parts of an object's metadata that Penstock reads. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

/** An object that this one ends with. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** A kind of object as its API is addressed: `{ group: "apps", version: "v1", plural: "deployments" }`; the core group is "". */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** `<namespace>/<name>`, or the name where there is no namespace. */
export function keyOf(meta: Pick<ObjectMeta, "name" | "namespace">): string {
  return meta.namespace === undefined ? meta.name : `${meta.namespace}/${meta.name}`;
}

/** The path of a type's objects, of one namespace or of all, or of one object by name. */
export function pathOf(type: ResourceType, namespace: string | null, name: string | null = null): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = namespace === null ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${scope}/${type.plural}${name === null ? "" : `/${encodeURIComponent(name)}`}`;
}
