import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fencingManifests } from "../../infra/plan/cluster/fencing.ts";
import { systemClock } from "../../runtime/adapters/clock.ts";
import { applyObject } from "../../runtime/adapters/kube/apply.ts";
import { connectToCluster, type KubeClient } from "../../runtime/adapters/kube/kube-client.ts";
import { LeaderLease } from "../../runtime/adapters/kube/leader-lease.ts";
import { type KubeObject, pathOf, type ResourceType } from "../../runtime/adapters/kube/objects.ts";
import { createLog } from "../../runtime/adapters/log.ts";
import { systemRandom } from "../../runtime/adapters/random.ts";
import { API_VERSION, GROUP, LEADER_LEASE, MARKS } from "../../runtime/contract/spec/kubernetes/names.ts";
import { connectToTestCluster, installDefinitions, makeNamespace, penstockType, until } from "./kube.ts";

const NAMESPACE = "test-leader";
const ENDPOINTS = penstockType("modelendpoints");
/** A tenth of the real ones. */
const TIMES = { durationMs: 1_500, renewDeadlineMs: 1_000, retryMs: 200 };
const kubeconfig = process.env.KUBECONFIG!;
const scratch = mkdtempSync(join(tmpdir(), "penstock-leader-"));

let client: KubeClient;
let controller: KubeClient;
let endNamespace: () => Promise<void>;

beforeAll(async () => {
  client = connectToTestCluster();
  await installDefinitions(client);
  endNamespace = await makeNamespace(client, NAMESPACE);
  controller = await connectAsController();
  for (const manifest of fencingManifests(NAMESPACE, "controller")) {
    const object = manifest as KubeObject;
    await applyObject(client, policyType(object.kind!), object);
  }
});
afterAll(async () => {
  for (const object of fencingManifests(NAMESPACE, "controller") as readonly KubeObject[]) {
    await client.send({ method: "DELETE", path: pathOf(policyType(object.kind!), null, object.metadata.name) });
  }
  await endNamespace();
  client.close();
  controller.close();
  rmSync(scratch, { recursive: true, force: true });
});

const policyType = (kind: string): ResourceType => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: kind === "ValidatingAdmissionPolicy" ? "validatingadmissionpolicies" : "validatingadmissionpolicybindings",
});

/** A client with the rights and the name of the controller's service account. */
async function connectAsController(): Promise<KubeClient> {
  const core = (plural: string): ResourceType => ({ group: "", version: "v1", plural });
  await applyObject(client, core("serviceaccounts"), {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "controller", namespace: NAMESPACE },
  });
  await applyObject(client, { group: "rbac.authorization.k8s.io", version: "v1", plural: "rolebindings" }, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "controller", namespace: NAMESPACE },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "controller", namespace: NAMESPACE }],
  } as KubeObject);
  const { status } = (await client.send({
    method: "POST",
    path: `${pathOf(core("serviceaccounts"), NAMESPACE, "controller")}/token`,
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3_600 } },
  })) as { status: { token: string } };
  const file = join(scratch, "controller.kubeconfig");
  writeFileSync(file, readFileSync(kubeconfig, "utf8").replace(/token: [^}]+/, `token: ${status.token}`));
  process.env.KUBECONFIG = file;
  try {
    return connectToCluster(null);
  } finally {
    process.env.KUBECONFIG = kubeconfig;
  }
}

/** A process that may lead, whose way to the API server can be cut. */
function candidate(identity: string, name: string) {
  const story: { readonly atMs: number; readonly epoch: number | null }[] = [];
  let cut = false;
  const through: KubeClient = {
    ...client,
    close: () => {},
    stream: client.stream.bind(client),
    send: (asked) => (cut ? Promise.reject(new Error("no route to host")) : client.send(asked)),
  };
  const lease = new LeaderLease(
    {
      client: through,
      namespace: NAMESPACE,
      name,
      identity,
      times: TIMES,
      clock: systemClock,
      random: systemRandom,
      log: createLog({ level: "error", human: false }),
    },
    {
      leading: (epoch) => story.push({ atMs: systemClock.monoMs(), epoch }),
      lost: () => story.push({ atMs: systemClock.monoMs(), epoch: null }),
    },
  );
  return {
    story,
    leads: () => (story.at(-1)?.epoch ?? null) !== null,
    cut: (isCut: boolean) => {
      cut = isCut;
    },
    close: () => lease.close(),
  };
}

test("one of two leads; cut off it stops before the other begins, under a larger epoch; let go, it is followed at once", async () => {
  const first = candidate("first", "election");
  await until(first.leads);
  const second = candidate("second", "election");
  first.cut(true);
  await until(second.leads);
  expect(first.leads()).toBe(false);
  expect(first.story.map(({ epoch }) => epoch)).toEqual([1, null]);
  expect(second.story.map(({ epoch }) => epoch)).toEqual([2]);
  expect(second.story[0]!.atMs).toBeGreaterThan(first.story[1]!.atMs);
  first.cut(false);
  await second.close();
  await until(first.leads);
  expect(first.story.at(-1)?.epoch).toBe(3);
  await first.close();
});

test("what a leader writes after another took over is refused by the API server, also what it makes; a person's edits pass", async () => {
  const leader = candidate("leader", LEADER_LEASE);
  await until(leader.leads);
  const write = (name: string, epoch: number | null, min: number) =>
    applyObject(
      controller,
      ENDPOINTS,
      {
        apiVersion: `${GROUP}/${API_VERSION}`,
        kind: "ModelEndpoint",
        metadata: {
          name,
          namespace: NAMESPACE,
          ...(epoch === null ? {} : { annotations: { [MARKS.epoch]: String(epoch) } }),
        },
        spec: { model: "iris.onnx", concurrency: { min } },
      } as KubeObject,
      { force: true },
    );
  // The policy takes effect a moment after it was made.
  await until(() =>
    write("probe", null, 0).then(
      () => false,
      (error) => String(error).includes("carries the epoch"),
    ),
  );
  await write("fenced", 1, 0);
  await leader.close();
  const next = candidate("next", LEADER_LEASE);
  await until(next.leads);
  // The server learns of the lease by a watch of its own.
  await until(() =>
    write("made-late", 1, 0).then(
      () => false,
      (error) => String(error).includes("epoch 1 has been replaced"),
    ),
  );
  await expect(write("fenced", 1, 1)).rejects.toThrow("epoch 1 has been replaced");
  await write("fenced", 2, 2);
  await expect(write("fenced", 1, 3)).rejects.toThrow("the object was written in 2");
  await client.send({
    method: "PATCH",
    path: pathOf(ENDPOINTS, NAMESPACE, "fenced"),
    contentType: "application/merge-patch+json",
    body: { spec: { concurrency: { min: 4 } } },
  });
  await next.close();
});
