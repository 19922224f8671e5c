import { GROUP, LEADER_LEASE, MANAGER, MARKS } from "../../../runtime/contract/spec/kubernetes/names.ts";

const NAME = "penstock-leader-epoch";
const EPOCH = `'${MARKS.epoch}'`;
/** The epoch that an object says, or none where it says none or no number. */
const epochOf = (object: string): string =>
  `has(${object}.metadata.annotations) && ${EPOCH} in ${object}.metadata.annotations && ${object}.metadata.annotations[${EPOCH}].matches('^[0-9]{1,18}$')`;

/**
 * The policy that fences leaders: what a controller of `namespace` writes carries its epoch, which is never less than the
 * object's last and never less than the Lease's. A leader that was replaced, and has not noticed, is refused by the API
 * server. What people write is not looked at: their edits leave the epoch as it stands.
 */
export function fencingManifests(namespace: string, serviceAccount: string): readonly object[] {
  const written = ["CREATE", "UPDATE"];
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: NAME },
      spec: {
        failurePolicy: "Fail",
        paramKind: { apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
        matchConstraints: {
          resourceRules: [
            { apiGroups: [GROUP], apiVersions: ["*"], operations: written, resources: ["*", "*/status"] },
            { apiGroups: ["apps"], apiVersions: ["v1"], operations: written, resources: ["deployments"] },
          ],
        },
        matchConditions: [
          {
            name: "written-by-the-controller",
            expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${serviceAccount}'`,
          },
        ],
        variables: [
          { name: "known", expression: epochOf("object") },
          { name: "epoch", expression: `variables.known ? int(object.metadata.annotations[${EPOCH}]) : -1` },
          {
            name: "last",
            expression: `oldObject != null && ${epochOf("oldObject")} ? int(oldObject.metadata.annotations[${EPOCH}]) : -1`,
          },
          { name: "leading", expression: "has(params.spec.leaseTransitions) ? params.spec.leaseTransitions : 0" },
        ],
        validations: [
          {
            expression: "variables.known",
            message: `what ${MANAGER} writes carries the epoch of its leader`,
            reason: "Forbidden",
          },
          {
            expression: "variables.epoch >= variables.last && variables.epoch >= variables.leading",
            messageExpression:
              "'epoch ' + string(variables.epoch) + ' has been replaced: the object was written in ' + string(variables.last) + ', the leader is in ' + string(variables.leading)",
            reason: "Forbidden",
          },
        ],
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: NAME },
      spec: {
        policyName: NAME,
        validationActions: ["Deny"],
        paramRef: { name: LEADER_LEASE, namespace, parameterNotFoundAction: "Deny" },
      },
    },
  ];
}
