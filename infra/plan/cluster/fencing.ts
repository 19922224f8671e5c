import { GROUP, LEADER_LEASE, MANAGER, MARKS } from "../../../runtime/contract/spec/kubernetes/names.ts";

const WRITTEN_IN_ORDER = "penstock-leader-epoch";
const WRITTEN_BY_LEADER = "penstock-leader-lease";
const EPOCH = `'${MARKS.epoch}'`;

/** A request for the object itself says no subresource at all. */
const IS_STATUS = "has(request.subResource) && request.subResource == 'status'";

/** Whether an object says an epoch, and which. A write of a status can change nothing but the status, so it is said there. */
const isKnown = (object: string): string =>
  `(${IS_STATUS} ? has(${object}.status) && has(${object}.status.leaderEpoch) : has(${object}.metadata.annotations) && ${EPOCH} in ${object}.metadata.annotations && ${object}.metadata.annotations[${EPOCH}].matches('^[0-9]{1,18}$'))`;
const epochOf = (object: string): string =>
  `(${IS_STATUS} ? int(${object}.status.leaderEpoch) : int(${object}.metadata.annotations[${EPOCH}]))`;

/**
 * The policies that fence leaders: what a controller of `namespace` writes carries its epoch, which is never less than the
 * object's last and never less than the Lease's. A leader that was replaced, and has not noticed, is refused by the API
 * server. What people write is not looked at: their edits leave the epoch as it stands.
 *
 * They are two because a policy whose parameter is missing refuses everybody, whoever its conditions are about: before the
 * first leader, or without its Lease, nobody could change a Deployment anywhere. So only the second one has the Lease as its
 * parameter and is silent without it; meanwhile the object's own epoch stands alone.
 */
export function fencingManifests(namespace: string, serviceAccount: string): readonly object[] {
  const written = ["CREATE", "UPDATE"];
  const common = {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        { apiGroups: [GROUP], apiVersions: ["*"], operations: written, resources: ["*", "*/status"] },
        // A Scale carries no epoch, so this way round the policy is closed to the controller; others may take it.
        {
          apiGroups: ["apps"],
          apiVersions: ["v1"],
          operations: written,
          resources: ["deployments", "deployments/scale"],
        },
      ],
    },
    matchConditions: [
      {
        name: "written-by-the-controller",
        expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${serviceAccount}'`,
      },
    ],
  };
  const epoch = { name: "epoch", expression: `${isKnown("object")} ? ${epochOf("object")} : -1` };
  const last = {
    name: "last",
    expression: `oldObject != null && ${isKnown("oldObject")} ? ${epochOf("oldObject")} : -1`,
  };
  const leading = {
    name: "leading",
    expression: "has(params.spec) && has(params.spec.leaseTransitions) ? params.spec.leaseTransitions : 0",
  };
  const replaced = "'epoch ' + string(variables.epoch) + ' has been replaced: '";
  return [
    policy(WRITTEN_IN_ORDER, {
      ...common,
      variables: [epoch, last],
      validations: [
        {
          expression: "variables.epoch >= 0",
          message: `what ${MANAGER} writes carries the epoch of its leader`,
          reason: "Forbidden",
        },
        {
          expression: "variables.epoch >= variables.last",
          messageExpression: `${replaced} + 'the object was written in ' + string(variables.last)`,
          reason: "Forbidden",
        },
      ],
    }),
    binding(WRITTEN_IN_ORDER, {}),
    policy(WRITTEN_BY_LEADER, {
      ...common,
      paramKind: { apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
      variables: [epoch, leading],
      validations: [
        {
          // What carries none is refused, in words of its own, by the other policy.
          expression: "variables.epoch < 0 || variables.epoch >= variables.leading",
          messageExpression: `${replaced} + 'the leader is in ' + string(variables.leading)`,
          reason: "Forbidden",
        },
      ],
    }),
    binding(WRITTEN_BY_LEADER, { paramRef: { name: LEADER_LEASE, namespace, parameterNotFoundAction: "Allow" } }),
  ];
}

const policy = (name: string, spec: object): object => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec,
});
const binding = (name: string, spec: object): object => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name },
  spec: { policyName: name, validationActions: ["Deny"], ...spec },
});
