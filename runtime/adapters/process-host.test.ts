import { expect, test } from "vitest";
import type { ToAgent, ToKeeper, ToRouter } from "../contract/wire/messages.ts";
import type { HostedReplica, ReplicaSet } from "../domain/replica.ts";
import type { Peer } from "./controller-server.ts";
import { ProcessHost } from "./process-host.ts";

const MACHINE = { cpuCount: 2, memoryBytes: 1, memoryAvailableBytes: 1, bootId: "b" };
const setOf = (version: string): ReplicaSet => ({ version: { id: version }, replicas: [] }) as unknown as ReplicaSet;
const hostedOf = (id: string): HostedReplica => ({ id }) as unknown as HostedReplica;

function agent(): Peer & { readonly told: (ToAgent | ToRouter | ToKeeper)[] } {
  const told: (ToAgent | ToRouter | ToKeeper)[] = [];
  const hello = { kind: "hello", role: "agent", name: "here", epoch: 1, holds: null } as const;
  return {
    role: "agent",
    name: "here",
    hello,
    told,
    send: (message) => {
      told.push(message);
      return true;
    },
  };
}

function watched(): { host: ProcessHost; seen: string[] } {
  const host = new ProcessHost();
  const seen: string[] = [];
  host.watch({
    hosted: (replica) => seen.push(`hosted ${replica.id}`),
    gone: (replica) => seen.push(`gone ${replica}`),
    replica: () => seen.push("report"),
    machine: (name) => seen.push(`machine ${name}`),
  });
  return { host, seen };
}

test("what was asked while the agent was away is said when it dials in, the newest word on each version", () => {
  const { host } = watched();
  host.apply(setOf("a-1"));
  host.apply(setOf("b-1"));
  host.remove("b-1");
  host.remove("c-1");
  host.apply(setOf("c-1"));
  const peer = agent();
  host.connected(peer);
  expect(peer.told).toEqual([
    { kind: "removeVersion", version: "b-1" },
    { kind: "replicaSet", set: setOf("a-1") },
    { kind: "replicaSet", set: setOf("c-1") },
  ]);
});

test("a replica whose end was told while the connection was down is gone once the agent has named all it has", () => {
  const { host, seen } = watched();
  host.connected(agent());
  host.receive("here", { kind: "hosted", replica: hostedOf("a-1-0") });
  host.receive("here", { kind: "hosted", replica: hostedOf("a-1-1") });
  host.receive("here", { kind: "machine", machine: MACHINE });
  host.connected(agent());
  host.receive("here", { kind: "hosted", replica: hostedOf("a-1-1") });
  expect(seen).not.toContain("gone a-1-0");
  host.receive("here", { kind: "machine", machine: MACHINE });
  expect(seen.slice(-2)).toEqual(["gone a-1-0", "machine here"]);
  host.receive("here", { kind: "gone", replica: "a-1-1" });
  expect(seen.at(-1)).toBe("gone a-1-1");
});

test("nothing is sent to an agent whose connection has ended", () => {
  const { host } = watched();
  const [older, newer] = [agent(), agent()];
  host.connected(older);
  host.connected(newer);
  host.disconnected(older);
  host.apply(setOf("a-1"));
  expect([older.told.length, newer.told.length]).toEqual([0, 1]);
  host.disconnected(newer);
  host.apply(setOf("b-1"));
  expect(newer.told).toHaveLength(1);
});

test("a removal is said again until the agent hosts nothing of the version, and forgotten then", () => {
  const { host } = watched();
  const first = agent();
  host.connected(first);
  host.receive("here", { kind: "hosted", replica: hostedOf("a-1-1") });
  host.remove("a-1");
  host.receive("here", { kind: "machine", machine: MACHINE });
  const second = agent();
  host.connected(second);
  expect(second.told).toEqual([{ kind: "removeVersion", version: "a-1" }]);
  host.receive("here", { kind: "gone", replica: "a-1-1" });
  host.receive("here", { kind: "machine", machine: MACHINE });
  const third = agent();
  host.connected(third);
  expect(third.told).toEqual([]);
});
