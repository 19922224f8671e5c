import { execFileSync } from "node:child_process";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../runtime/adapters/clock.ts";
import { MAIN_CONTAINER } from "../../runtime/adapters/kube/deployment.ts";
import { DeploymentHost } from "../../runtime/adapters/kube/deployment-host.ts";
import type { KubeClient } from "../../runtime/adapters/kube/kube-client.ts";
import { pathOf, type ResourceType } from "../../runtime/adapters/kube/objects.ts";
import type { Pod } from "../../runtime/adapters/kube/pod.ts";
import { createLog } from "../../runtime/adapters/log.ts";
import { systemRandom } from "../../runtime/adapters/random.ts";
import { MARKS } from "../../runtime/contract/spec/kubernetes/names.ts";
import type { HostedReplica, ReplicaSet } from "../../runtime/domain/replica.ts";
import { connectToTestCluster, makeNamespace, until } from "./kube.ts";
import { PAUSE_IMAGE } from "./layout.ts";

const NAMESPACE = "test-host";
const VERSION = "iris-0123456789";
const PODS: ResourceType = { group: "", version: "v1", plural: "pods" };
let client: KubeClient;
let endNamespace: () => Promise<void>;
const hosts: DeploymentHost[] = [];

beforeAll(async () => {
  client = connectToTestCluster();
  endNamespace = await makeNamespace(client, NAMESPACE);
});
afterEach(async () => {
  for (const host of hosts.splice(0)) host.close();
  kubectl("delete", "deployments", "--all", "--wait=true");
  await until(async () => (await pods()).length === 0);
});
afterAll(async () => {
  await endNamespace();
  client.close();
});

const kubectl = (...args: string[]): string =>
  execFileSync("kubectl", ["-n", NAMESPACE, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const pods = async (): Promise<readonly Pod[]> =>
  ((await client.send({ method: "GET", path: pathOf(PODS, NAMESPACE) })) as { items: readonly Pod[] }).items;
/** Uid of the pod that is each replica, of those that have not been told to end. */
const uids = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await pods())
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => [metadata.annotations?.[MARKS.replica] ?? "none", metadata.uid!]),
  );

const setOf = (ordinals: readonly number[], draining: readonly number[] = []): ReplicaSet => ({
  version: { id: VERSION } as ReplicaSet["version"],
  replicas: ordinals.map((ordinal) => ({ id: `${VERSION}-${ordinal}`, draining: draining.includes(ordinal) })),
});

/** A host and what it told: the newest word on each replica, and those that are gone. */
function startHost(command: readonly string[] | null = null) {
  const hosted = new Map<string, HostedReplica>();
  const gone: string[] = [];
  const machines: number[] = [];
  const host = new DeploymentHost({
    client,
    namespace: NAMESPACE,
    epoch: 1,
    owner: null,
    template: () => ({
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: MAIN_CONTAINER, image: PAUSE_IMAGE, ...(command === null ? {} : { command }) }],
      },
    }),
    clock: systemClock,
    random: systemRandom,
    log: createLog({ level: "error", human: false }),
  });
  host.watch({
    hosted: (replica) => hosted.set(replica.id, replica),
    gone: (replica) => {
      gone.push(replica);
      hosted.delete(replica);
    },
    replica: () => {},
    machine: (_, { cpuCount }) => machines.push(cpuCount),
  });
  hosts.push(host);
  const running = (): string[] =>
    [...hosted.values()]
      .filter(({ state }) => state === "running")
      .map(({ id }) => id.slice(VERSION.length + 1))
      .sort();
  return { host, hosted, gone, machines, running };
}

test("a set becomes pods that are its replicas, and the very ones that were to go are gone when it shrinks", async () => {
  const { host, gone, machines, running } = startHost();
  host.apply(setOf([1, 2, 3]));
  await until(() => running().join() === "1,2,3");
  expect(machines[0]).toBeGreaterThan(0);
  const before = await uids();
  host.apply(setOf([1, 2, 3], [1]));
  await until(() => kubectl("get", "pods", "-o", "yaml").includes("pod-deletion-cost"));
  host.apply(setOf([2, 3]));
  await until(() => gone.includes(`${VERSION}-1`));
  const { [`${VERSION}-1`]: _, ...stayed } = before;
  expect(await uids()).toEqual(stayed);
});

test("a pod that is lost comes back as the same replica with a larger epoch, and nothing is told gone", async () => {
  const { host, hosted, gone, running } = startHost();
  host.apply(setOf([1, 2]));
  await until(() => running().join() === "1,2");
  const { [`${VERSION}-1`]: lost } = await uids();
  const before = hosted.get(`${VERSION}-1`)!;
  const name = (await pods()).find(({ metadata }) => metadata.uid === lost)!.metadata.name;
  kubectl("delete", "pod", name, "--wait=false");
  await until(() => (hosted.get(`${VERSION}-1`)?.epoch ?? 0) > before.epoch && running().join() === "1,2");
  expect((await uids())[`${VERSION}-1`]).not.toBe(lost);
  await until(async () => (await pods()).length === 2);
  expect(gone).toEqual([]);
});

test("the next host knows the replicas again, and says what there is before what the cluster has", async () => {
  const first = startHost();
  first.host.apply(setOf([4, 7]));
  await until(() => first.running().join() === "4,7");
  const before = await uids();
  first.host.close();
  const next = startHost();
  await until(() => next.machines.length > 0);
  expect(next.running()).toEqual(["4", "7"]);
  next.host.apply(setOf([4, 7]));
  await until(() => next.running().join() === "4,7");
  expect(await uids()).toEqual(before);
});

test("a number of replicas that somebody else wrote is set right again", async () => {
  const { host, running } = startHost();
  host.apply(setOf([1, 2]));
  await until(() => running().join() === "1,2");
  kubectl("scale", "deployment", VERSION, "--replicas=0");
  await until(() => running().length < 2);
  await until(() => running().join() === "1,2");
});

test("a version that is removed ends with all its replicas", async () => {
  const { host, gone, running } = startHost();
  host.apply(setOf([1, 2]));
  await until(() => running().join() === "1,2");
  host.remove(VERSION);
  await until(() => gone.length === 2);
  expect(kubectl("get", "deployments", "-o", "name")).toBe("");
});

test("a program that can't be started is told with its reason", async () => {
  const { host, hosted } = startHost(["/no-such-program"]);
  host.apply(setOf([1]));
  await until(() => hosted.get(`${VERSION}-1`)?.lastLog.join(" ").includes("no-such-program") ?? false);
  expect(hosted.get(`${VERSION}-1`)?.state).not.toBe("running");
});
