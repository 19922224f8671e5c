import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fencingManifests } from "../../infra/plan/cluster/fencing.ts";
import { systemClock } from "../../runtime/adapters/clock.ts";
import { applyObject, deleteObject } from "../../runtime/adapters/kube/apply.ts";
import { connectToCluster, type KubeClient } from "../../runtime/adapters/kube/kube-client.ts";
import { LeaderLease } from "../../runtime/adapters/kube/leader-lease.ts";
import { type KubeObject, pathOf, type ResourceType } from "../../runtime/adapters/kube/objects.ts";
import { createLog } from "../../runtime/adapters/log.ts";
import { systemRandom } from "../../runtime/adapters/random.ts";
import { API_VERSION, GROUP, LEADER_LEASE, MARKS } from "../../runtime/contract/spec/kubernetes/names.ts";
import { connectToTestCluster, installDefinitions, makeNamespace, penstockType, until } from "./kube.ts";

const NAMESPACE = "test-leader";
const ENDPOINTS = penstockType("modelendpoints");
const DEPLOYMENTS: ResourceType = { group: "apps", version: "v1", plural: "deployments" };
const LEASES: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
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
  const epoch = first.story[0]!.epoch!;
  expect(first.story.map((one) => one.epoch)).toEqual([epoch, null]);
  expect(second.story.map((one) => one.epoch)).toEqual([epoch + 1]);
  expect(second.story[0]!.atMs).toBeGreaterThan(first.story[1]!.atMs);
  first.cut(false);
  await second.close();
  await until(first.leads);
  expect(first.story.at(-1)?.epoch).toBe(epoch + 2);
  await first.close();
});

/** Applies an endpoint under an epoch as the controller; with `status` its status, else its spec. */
function write(name: string, epoch: number | null, min: number, subresource?: "status"): Promise<KubeObject> {
  const annotations = epoch === null || subresource !== undefined ? {} : { [MARKS.epoch]: String(epoch) };
  return applyObject(
    controller,
    ENDPOINTS,
    {
      apiVersion: `${GROUP}/${API_VERSION}`,
      kind: "ModelEndpoint",
      metadata: { name, namespace: NAMESPACE, annotations },
      ...(subresource === undefined
        ? { spec: { model: "iris.onnx", concurrency: { min } } }
        : { status: { wantedReplicas: min, ...(epoch === null ? {} : { leaderEpoch: epoch }) } }),
    } as KubeObject,
    { force: true, ...(subresource === undefined ? {} : { subresource }) },
  );
}

/** Resolves once a write is refused in these words: policies, and what they know of the lease, take effect a moment later. */
const untilRefused = (attempt: () => Promise<unknown>, words: string): Promise<void> =>
  until(() =>
    attempt().then(
      () => false,
      (error) => String(error).includes(words),
    ),
  );

test("before the first leader only the controller is bound: people's objects and deployments pass", async () => {
  await untilRefused(() => write("probe", null, 0), "carries the epoch");
  await untilRefused(() => scaleAsController(), "carries the epoch");
  await applyObject(client, DEPLOYMENTS, deployment("of-a-person"));
  await expect(client.send({ method: "GET", path: pathOf(LEASES, NAMESPACE, LEADER_LEASE) })).rejects.toThrow(
    "not found",
  );
});

test("what a leader writes after another took over is refused by the API server, also what it makes; a person's edits pass", async () => {
  const leader = candidate("leader", LEADER_LEASE);
  await until(leader.leads);
  const old = leader.story[0]!.epoch!;
  await write("fenced", old, 0);
  await write("fenced", old, 0, "status");
  await leader.close();
  const next = candidate("next", LEADER_LEASE);
  await until(next.leads);
  expect(next.story[0]!.epoch).toBe(old + 1);
  await untilRefused(() => write("made-late", old, 0), `epoch ${old} has been replaced`);
  await expect(write("fenced", old, 1)).rejects.toThrow(`epoch ${old} has been replaced`);
  await write("fenced", old + 1, 2);
  await expect(write("fenced", old, 3)).rejects.toThrow(`epoch ${old} has been replaced`);
  await client.send({
    method: "PATCH",
    path: pathOf(ENDPOINTS, NAMESPACE, "fenced"),
    contentType: "application/merge-patch+json",
    body: { spec: { concurrency: { min: 4 } } },
  });
  await next.close();
});

test("a status is fenced by the epoch it says itself: one of an endpoint that a person made and no leader wrote, too", async () => {
  const leader = candidate("status-leader", LEADER_LEASE);
  await until(leader.leads);
  const epoch = leader.story[0]!.epoch!;
  await untilRefused(() => write("stale-probe", epoch - 1, 0), "has been replaced");
  await applyObject(client, ENDPOINTS, {
    apiVersion: `${GROUP}/${API_VERSION}`,
    kind: "ModelEndpoint",
    metadata: { name: "of-a-person", namespace: NAMESPACE },
    spec: { model: "iris.onnx" },
  } as KubeObject);
  await write("of-a-person", epoch, 1, "status");
  await expect(write("of-a-person", epoch - 1, 2, "status")).rejects.toThrow(`epoch ${epoch - 1} has been replaced`);
  await expect(write("of-a-person", null, 3, "status")).rejects.toThrow("carries the epoch");
  await leader.close();
});

test("without the lease the object's own epoch stands, and a lease made anew leads under a larger one", async () => {
  const leader = candidate("before-loss", LEADER_LEASE);
  await until(leader.leads);
  const epoch = leader.story[0]!.epoch!;
  await write("outlives", epoch, 1);
  await leader.close();
  await deleteObject(client, LEASES, { name: LEADER_LEASE, namespace: NAMESPACE });
  await untilRefused(() => write("outlives", epoch - 1, 2), `the object was written in ${epoch}`);
  // A tenth of the real times makes leaders faster than one in a second, which is what epochs are counted from.
  await until(() => Date.now() / 1_000 - Date.UTC(2020) / 1_000 > epoch);
  const next = candidate("after-loss", LEADER_LEASE);
  await until(next.leads);
  expect(next.story[0]!.epoch).toBeGreaterThan(epoch);
  await write("outlives", next.story[0]!.epoch, 3);
  await next.close();
});

const deployment = (name: string): KubeObject =>
  ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  }) as KubeObject;

/** Changes a deployment's scale past the deployment itself. */
async function scaleAsController(): Promise<void> {
  await applyObject(client, DEPLOYMENTS, deployment("scaled"));
  await controller.send({
    method: "PATCH",
    path: `${pathOf(DEPLOYMENTS, NAMESPACE, "scaled")}/scale`,
    contentType: "application/merge-patch+json",
    body: { spec: { replicas: 0 } },
  });
}
