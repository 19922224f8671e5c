import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ControllerServer, listenForPeers, type Peer } from "../../adapters/controller-server.ts";
import { writeKept } from "../../adapters/kept-file.ts";
import { createLog } from "../../adapters/log.ts";
import type { ToController } from "../../contract/wire/messages.ts";
import type { HostedReplica, ReplicaSet } from "../../domain/replica.ts";
import { identifyProcess } from "./process-table.ts";
import { aWholeSet } from "./sets.fixture.ts";

/** Says what happens to it in a file, so that an order between processes can be read. */
const DIARY = "$DIARY";
const POLITE = `trap 'echo "end $1" >> ${DIARY}; exit 0' TERM; echo "start $1 $$" >> ${DIARY}; echo ready >&3; while :; do sleep 0.02; done`;

let folder: string;
let diary: string;
let controller: FakeController;
const started: ChildProcess[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "penstock-agent-"));
  diary = join(folder, "diary");
  writeFileSync(diary, "");
  controller = await FakeController.listen(join(folder, "c.sock"));
});
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  }
  await controller.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The controller's end of the wire, in the test. */
class FakeController {
  readonly messages: Exclude<ToController, { kind: "hello" }>[] = [];
  agent: Peer | null = null;
  #server: ControllerServer | null = null;

  static async listen(path: string): Promise<FakeController> {
    const fake = new FakeController();
    fake.#server = await listenForPeers(path, {
      log: createLog({ level: "error", human: false }),
      observer: {
        hello: (peer) => {
          fake.agent = peer;
        },
        message: (_peer, message) => fake.messages.push(message),
        gone: () => {
          fake.agent = null;
        },
      },
    });
    return fake;
  }

  /** The newest word on a replica. */
  hosted(id: string): HostedReplica | undefined {
    const words = this.messages.flatMap((message) => (message.kind === "hosted" ? [message.replica] : []));
    return words.findLast((replica) => replica.id === id);
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }
}

function startAgent(script: string, path = "/usr/local/bin:/usr/bin:/bin"): ChildProcess {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "agent.fixture.ts"), folder, script.replaceAll(DIARY, diary), path],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  started.push(child);
  return child;
}

const setOf = (...ids: string[]): ReplicaSet =>
  ({
    version: { id: "iris-1", artifact: {} },
    replicas: ids.map((id) => ({ id, draining: false })),
  }) as unknown as ReplicaSet;

const entries = (): string[] => readFileSync(diary, "utf8").trim().split("\n").filter(Boolean);
const pidOf = (name: string): number =>
  Number(
    entries()
      .findLast((entry) => entry.startsWith(`start ${name} `))
      ?.split(" ")[2] ?? 0,
  );

/** Resolves once the condition holds; the test's own time-out is the bound. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Whether a process runs: one that was killed and not yet reaped by its new parent does not. */
function runs(pid: number): boolean {
  if (identifyProcess(pid) === null) return false;
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("Z");
  } catch {
    return false;
  }
}

async function withTwoReplicas(script: string): Promise<ChildProcess> {
  const agent = startAgent(script);
  await until(() => controller.agent !== null);
  controller.agent?.send({ kind: "replicaSet", set: setOf("iris-1-0", "iris-1-1") });
  await until(() => ["controller", "router", "iris-1-0", "iris-1-1"].every((name) => pidOf(name) > 0));
  return agent;
}

test("an agent killed with -9 takes all its children with it, and theirs that are tied to them", async () => {
  // A grandchild says that it is there once it is tied: `setpriv ... &` has returned to the shell before that.
  const grandchild = `setpriv --pdeathsig KILL -- sh -c 'echo "start child-of-$1 $$" >> ${DIARY}; exec sleep 1000' sh "$1" &`;
  const agent = await withTwoReplicas(`${grandchild} ${POLITE}`);
  await until(() => entries().length === 8);
  const pids = entries().map((entry) => Number(entry.split(" ")[2]));
  agent.kill("SIGKILL");
  await until(() => pids.every((pid) => !runs(pid)));
});

test("a child that is not yet tied to its agent when that is killed never runs its program", async () => {
  // This setpriv comes to tie the child only when the agent is gone, however long that takes.
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const late = `#!/bin/sh
    echo "late $PPID $$" >> ${diary}
    while kill -0 $PPID 2>/dev/null; do sleep 0.02; done
    echo "tied $PPID $$" >> ${diary}
    PATH=/usr/local/bin:/usr/bin:/bin exec setpriv "$@"`;
  writeFileSync(join(bin, "setpriv"), late, { mode: 0o755 });
  const agent = startAgent(POLITE, `${bin}:/usr/local/bin:/usr/bin:/bin`);
  const said = (word: string): string[] => entries().filter((entry) => entry.startsWith(word));
  await until(() => said("late").length === 2);
  agent.kill("SIGKILL");
  await until(() => said("tied").length === 2);
  const pids = said("tied").map((entry) => Number(entry.split(" ")[2]));
  await until(() => pids.every((pid) => !runs(pid)));
  expect(said("start")).toEqual([]);
});

test("the next agent ends what a killed one left behind, told by pid and start time", async () => {
  // Neither is a child of the agent: nothing but the run file tells it of them.
  const left = spawn("/bin/sleep", ["1000"], { detached: true, stdio: "ignore" });
  left.unref();
  const bystander = spawn("/bin/sleep", ["1000"], { detached: true, stdio: "ignore" });
  bystander.unref();
  const children = [
    { id: "left", ...identifyProcess(left.pid ?? 0) },
    { id: "reused", pid: bystander.pid, started: "another-boot/1" },
  ];
  writeKept(join(folder, "run.json"), "run/1", { epoch: 41, children });
  startAgent(POLITE);
  await once(left, "exit");
  expect(left.signalCode).toBe("SIGKILL");
  expect(runs(bystander.pid ?? 0)).toBe(true);
  bystander.kill("SIGKILL");
  await until(() => controller.agent !== null);
  expect(controller.agent?.hello.epoch).toBeGreaterThan(41);
});

test("controller and router that are killed come back at once, a replica under the same id and a larger epoch", async () => {
  await withTwoReplicas(POLITE);
  await until(() => controller.hosted("iris-1-0")?.state === "running");
  const before = { controller: pidOf("controller"), router: pidOf("router"), replica: controller.hosted("iris-1-0") };
  for (const pid of [before.controller, before.router, before.replica?.pid ?? 0]) process.kill(pid, "SIGKILL");
  await until(() => pidOf("controller") !== before.controller && pidOf("router") !== before.router);
  await until(() => (controller.hosted("iris-1-0")?.epoch ?? 0) > (before.replica?.epoch ?? 0));
  await until(() => controller.hosted("iris-1-0")?.state === "running");
  expect(controller.hosted("iris-1-0")?.lastExit).toMatchObject({ signal: "SIGKILL" });
});

test("a replica left out of the set ends, and the others stay as they are", async () => {
  await withTwoReplicas(POLITE);
  const kept = pidOf("iris-1-1");
  controller.agent?.send({ kind: "replicaSet", set: setOf("iris-1-1") });
  await until(() => controller.messages.some((message) => message.kind === "gone" && message.replica === "iris-1-0"));
  expect(entries().filter((entry) => entry.startsWith("end"))).toEqual(["end iris-1-0"]);
  controller.agent?.send({ kind: "removeVersion", version: "iris-1" });
  await until(() => entries().includes("end iris-1-1"));
  expect(pidOf("iris-1-1")).toBe(kept);
});

test("an ordered end stops the router first, then the replicas, then the controller", async () => {
  const agent = await withTwoReplicas(POLITE);
  agent.kill("SIGTERM");
  const [code] = await once(agent, "exit");
  expect(code).toBe(0);
  const ends = entries().filter((entry) => entry.startsWith("end"));
  expect([ends[0], ends.slice(1, 3).sort(), ends[3]]).toEqual([
    "end router",
    ["end iris-1-0", "end iris-1-1"],
    "end controller",
  ]);
});

describe("the replicas of the last life", () => {
  const last = aWholeSet();
  const id = last.replicas[0]?.id ?? "";
  beforeEach(() => writeKept(join(folder, "wanted-sets.json"), "wanted-sets/1", { sets: [last] }));

  test("start with no controller to ask", async () => {
    await controller.close();
    startAgent(POLITE);
    await until(() => pidOf(id) > 0);
  });

  test("start before the controller has said a word, and end when it wants them no more", async () => {
    startAgent(POLITE);
    await until(() => controller.agent !== null && pidOf(id) > 0);
    const pid = pidOf(id);
    controller.agent?.send({ kind: "removeVersion", version: last.version.id });
    await until(() => controller.messages.some((message) => message.kind === "gone"));
    expect(runs(pid)).toBe(false);
    expect(JSON.parse(readFileSync(join(folder, "wanted-sets.json"), "utf8")).sets).toEqual([]);
  });

  test("start again as the controller tells their version, where what was kept of it differs", async () => {
    startAgent(`[ "$2" = /moved/iris.onnx ] || [ "$1" != ${id} ] || exit 1; ${POLITE}`);
    await until(() => (controller.hosted(id)?.failedStarts ?? 0) > 0);
    controller.agent?.send({ kind: "replicaSet", set: aWholeSet("/moved/iris.onnx") });
    await until(() => pidOf(id) > 0);
  });
});

test("a controller that comes back hears of every replica before it hears of the machine", async () => {
  await withTwoReplicas(POLITE);
  await controller.close();
  controller = await FakeController.listen(join(folder, "c.sock"));
  await until(() => controller.messages.some((message) => message.kind === "machine"));
  const kinds = controller.messages.filter((message) => message.kind !== "logLines").map((message) => message.kind);
  expect(kinds.slice(0, 3)).toEqual(["hosted", "hosted", "machine"]);
});

test("lines of a process are forwarded, and kept in its file with their time", async () => {
  await withTwoReplicas(`echo "hello from $1"; ${POLITE}`);
  const forwarded = (source: string): string[] =>
    controller.messages.flatMap((message) =>
      message.kind === "logLines" && message.source === source ? message.lines : [],
    );
  await until(() => forwarded("iris-1-0").length > 0);
  expect(forwarded("iris-1-0")).toEqual(["hello from iris-1-0"]);
  const file = join(folder, "logs", "router.log");
  await until(() => existsSync(file) && /^\S+Z hello from router\n$/.test(readFileSync(file, "utf8")));
});
