/** API group and version of all of Penstock's resources. */
export const GROUP = "penstock.dev";
/** The only version there is. */
export const API_VERSION = "v1alpha1";

/** Labels and annotations that Penstock writes on objects of a cluster. */
export const MARKS = {
  /** Annotation: the epoch of the leader that wrote the object last. An older leader's write is refused. */
  epoch: `${GROUP}/epoch`,
  /** Annotation of a pod: the replica that it is. */
  replica: `${GROUP}/replica`,
  /** Label: the endpoint that an object is part of. */
  endpoint: `${GROUP}/endpoint`,
  /** Label: the version that an object is part of. */
  version: `${GROUP}/version`,
  /** Label that Kubernetes recommends: who manages the object. */
  managedBy: "app.kubernetes.io/managed-by",
} as const;

/** Who owns the fields that Penstock's controllers write, and the value of MARKS.managedBy. */
export const MANAGER = "penstock";
/** The Lease that the leading controller holds; its transitions count the epochs. */
export const LEADER_LEASE = "penstock-controller";
