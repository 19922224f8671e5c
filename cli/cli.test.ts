import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../runtime/adapters/clock.ts";
import { keyHashOf } from "../runtime/domain/names.ts";
import type { Prepared } from "../runtime/domain/rollout.ts";
import { type Api, createApi } from "../runtime/operate/api/app.ts";
import { serveApi } from "../runtime/operate/api/serve.ts";
import { aHosted, aReport, aRolledVersion, aRollout, aSpec, aVersion } from "../runtime/operate/testing/facts.ts";
import { FakeRegion } from "../runtime/operate/testing/fake-region.ts";
import { EXAMPLES } from "./help-examples.ts";
import { buildProgram } from "./program.ts";

// The CLI runs as a real process against the real API over a socket; behind the API stands a Board that the test writes.
const PROGRAM = fileURLToPath(new URL("./penstock.ts", import.meta.url));

let region: FakeRegion;
let api: Api;
let server: Server;
let folder: string;
let env: NodeJS.ProcessEnv;

beforeEach(async () => {
  region = new FakeRegion(systemClock);
  api = createApi(region);
  server = await serveApi(api.app, { host: "127.0.0.1", port: 0 });
  folder = mkdtempSync(join(tmpdir(), "penstock-cli-"));
  env = {
    PATH: process.env.PATH,
    HOME: folder,
    PENSTOCK_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
});

afterEach(() => {
  api.close();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

/** Runs the CLI to its end. */
function penstock(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { env, cwd: folder }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

/** `iris` with one version that serves and one that is kept. */
function deployIris(): void {
  region.applySpec(aSpec());
  const kept = aRolledVersion({ version: aVersion("b"), phase: "kept", weight: 0 });
  region.board.put("rollout", "iris", aRollout([aRolledVersion(), kept]));
  region.board.put("hosted", `${aVersion().id}-0`, aHosted());
  region.board.put("replica", `${aVersion().id}-0`, aReport());
  region.board.put("wanted", aVersion().id, { version: aVersion().id, replicas: 1, targetConcurrency: 4 });
}

const prepared = (state: Prepared["state"], deployNumber = 1): void =>
  region.board.put("prepared", "iris", { endpoint: "iris", modelKey: "k", deployNumber, state });

describe("looking", () => {
  test("get is a table for people without colour codes in a pipe, and JSON for programs", async () => {
    deployIris();
    const table = await penstock("get");
    expect(table.out.split("\n")[0]).toMatch(/^NAME +STATUS +READY +QPS/);
    expect(table.out).toMatch(/^iris +ready +1\/1/m);
    expect(table.out).not.toContain("\u001b");
    expect(JSON.parse((await penstock("get", "--json")).out)[0].status.word).toBe("ready");
    expect((await penstock("get", "--names")).out).toBe("iris\n");
  });

  test("get tells below its table, whole, what is wrong with an endpoint and what to do", async () => {
    deployIris();
    expect((await penstock("get")).out).not.toContain("iris failed");
    const failure = { why: "never got ready in 60 s", lastLog: [] };
    region.board.put("rollout", "iris", aRollout([aRolledVersion({ phase: "failed", weight: 0, failure })]));
    prepared({ kind: "ready", version: aVersion() });
    const { out } = await penstock("get");
    expect(out).toContain(`\niris failed: ${aVersion().id}: never got ready in 60 s\n  Correct what`);
  });

  test("describe shows why a version failed with its last lines, which can't command the terminal", async () => {
    region.applySpec(aSpec());
    const failure = { why: "never got ready in 60 s", lastLog: ["ImportError: no module \u001b[31mxgboost"] };
    region.board.put("rollout", "iris", aRollout([aRolledVersion({ phase: "failed", weight: 0, failure })]));
    region.decide({ reason: "give-up: not-ready" });
    const { out } = await penstock("describe", "iris");
    expect(out).toContain("never got ready in 60 s");
    expect(out).toContain("| ImportError: no module  [31mxgboost");
    expect(out).not.toContain("\u001b");
    expect(out).toContain("give-up: not-ready");
  });

  test("no command lets through what others wrote to command the terminal", async () => {
    const evil = "\u001b]0;title\u0007\u001b[2J\u009b1A\r\u202eover";
    const run = { ...aSpec().run, command: [evil], env: { A: evil } };
    region.applySpec(aSpec({ model: evil, run }));
    region.board.put("prepared", "iris", {
      endpoint: "iris",
      modelKey: "k",
      deployNumber: 1,
      state: { kind: "failed", code: "PENSTOCK_MODEL_BROKEN", why: evil, todo: evil },
    });
    const version = { ...aVersion(), artifact: { ...aVersion().artifact, source: evil } };
    const failure = { why: evil, lastLog: [evil, `{"level":"error","msg":"X","why":${JSON.stringify(evil)}}`] };
    region.board.put("rollout", "iris", aRollout([aRolledVersion({ version, phase: "failed", weight: 0, failure })]));
    region.logs.add("controller", [evil], systemClock.wallMs());
    region.decide({ reason: evil, inputs: { why: evil } });
    const commands = [
      ["get"],
      ["describe", "iris"],
      ["describe", evil],
      ["logs"],
      ["decisions"],
      ["doctor"],
      ["get", "--json"],
      ["logs", "--json"],
      ["describe", "iris", "--json"],
    ];
    for (const command of commands) {
      const { out, err } = await penstock(...command);
      expect(out + err, command.join(" ")).toMatch(/^(?:[\n\t]|[^\p{Cc}\u202e])+$/u);
      expect(out + err, command.join(" ")).toContain("over");
    }
  });

  test("logs -f prints the tail, then each new line", async () => {
    deployIris();
    region.logs.add(`${aVersion().id}-0`, ["old line"], systemClock.wallMs());
    const child = spawn(process.execPath, [PROGRAM, "logs", "iris", "-f"], { env });
    const sees = async (text: string): Promise<void> => {
      for await (const chunk of child.stdout.iterator({ destroyOnReturn: false }))
        if (String(chunk).includes(text)) return;
    };
    await sees("old line");
    region.logs.add(`${aVersion().id}-0`, ["new line"], systemClock.wallMs());
    await sees("new line");
    child.kill();
  });

  test("replay ends with 0 when the decision is the same and 1 when it differs", async () => {
    const id = region.decide();
    region.replayed = { because: { reason: "scale: demand", inputs: { demand: 12 } }, output: { replicas: 3 } };
    expect(await penstock("replay", String(id))).toMatchObject({ code: 0, out: expect.stringContaining("equal") });
    region.replayed = { ...region.replayed, output: { replicas: 9 } };
    expect(await penstock("replay", String(id))).toMatchObject({ code: 1, out: expect.stringContaining("differs") });
  });

  test("doctor ends with 1 when a check of the region fails", async () => {
    const { code, out } = await penstock("doctor");
    expect(code).toBe(1);
    expect(out).toContain("FAIL  routers: no router has reported");
  });
});

describe("deploying", () => {
  test("deploy PATH names the endpoint after the file, sends an absolute path and waits until traffic has moved", async () => {
    writeFileSync(join(folder, "Iris.onnx"), "model");
    const running = penstock("deploy", "./Iris.onnx", "--min", "2");
    await new Promise<void>((resolve) => {
      const end = region.watch((fact) => {
        if (fact !== "spec") return;
        end();
        resolve();
      });
    });
    expect(region.board.get("spec", "iris")).toMatchObject({
      value: { model: join(folder, "Iris.onnx"), concurrency: { min: 2, max: 64 } },
    });
    prepared({ kind: "working", doing: "hashing", doneBytes: 1, totalBytes: 2 });
    region.board.put("rollout", "iris", aRollout());
    region.board.put("replica", `${aVersion().id}-0`, aReport());
    prepared({ kind: "ready", version: aVersion() });
    const { code, out, err } = await running;
    expect([code, err]).toEqual([0, expect.stringContaining("Endpoint name: iris")]);
    expect(out).toContain(`deployed iris: ${aVersion().id} gets 100 % of the traffic`);
    expect(out).toContain(`curl ${env.PENSTOCK_URL}/`);
  });

  test("a second deploy keeps what no flag speaks of, and follows the newest version again", async () => {
    region.applySpec({
      ...aSpec({ concurrency: { min: 3, max: 30 } }),
      traffic: { kind: "split", parts: [{ version: aVersion("b").id, percent: 100 }] },
    });
    writeFileSync(join(folder, "iris.onnx"), "model");
    const { code } = await penstock("deploy", "iris.onnx", "--no-wait", "--max", "40");
    expect(code).toBe(0);
    expect(region.board.get("spec", "iris")).toMatchObject({
      value: { generation: 2, concurrency: { min: 3, max: 40 }, traffic: { kind: "latest", canaryPercent: 100 } },
    });
  });

  test("a failed preparation ends with 1 and says why and what to do", async () => {
    const running = penstock("deploy", "pypi:nothing==1#x.gguf", "--name", "iris");
    const end = region.watch((fact) => {
      if (fact !== "spec") return;
      end();
      prepared({ kind: "failed", code: "PENSTOCK_FETCH", why: "no such package", todo: "Check the name." });
    });
    expect(await running).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no such package[\s\S]*Check the name/),
    });
  });

  test("a wait that is over ends with 4, the deploy goes on", async () => {
    const { code, err } = await penstock("deploy", "pypi:a==1#x.gguf", "--name", "iris", "--wait-timeout", "1");
    expect([code, err]).toEqual([4, expect.stringContaining("It goes on")]);
  });

  test("-f deploys every document of a YAML file; a mistake is told with its path", async () => {
    writeFileSync(
      join(folder, "two.yaml"),
      "name: one\nmodel: pypi:a==1#a.gguf\n---\nname: two\nmodel: pypi:b==1#b.gguf\nrun: {cpuCounts: 2}\n",
    );
    const { code, err } = await penstock("deploy", "-f", "two.yaml", "--no-wait");
    expect(region.board.keys("spec")).toEqual(["one"]);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/run\.cpuCounts: there is no such setting; did you mean cpuCount\?/),
    ]);
  });

  test("a path that does not exist is refused before anything is sent", async () => {
    const { code, err } = await penstock("deploy", "./nothing.onnx");
    expect([code, err]).toEqual([1, expect.stringContaining("there is no file or folder")]);
  });
});

describe("changing", () => {
  test("split takes versions by the start of their hash; the API keeps what was meant", async () => {
    deployIris();
    const { code, out } = await penstock("split", "iris", "aaa=90", "bbb=10");
    expect([code, out]).toEqual([0, expect.stringContaining(`${aVersion("b").id} 10 %`)]);
    expect((await penstock("split", "iris", "zzz=100")).code).toBe(2);
    expect((await penstock("split", "iris")).code).toBe(2);
  });

  test("rollback, scale and delete do what they say", async () => {
    deployIris();
    expect((await penstock("rollback", "iris")).out).toContain(`${aVersion("b").id} 100 %`);
    expect((await penstock("scale", "iris", "--min", "5")).out).toContain("5 to 64 requests in flight");
    expect((await penstock("delete", "iris")).code).toBe(2);
    expect((await penstock("delete", "iris", "--yes")).code).toBe(0);
    expect(region.board.keys("spec")).toEqual([]);
  });

  test("key create prints the key alone; key hash gives what a region file lists", async () => {
    const created = await penstock("key", "create", "app", "--admin");
    const key = created.out.trim();
    expect(region.board.get("keys", "region")).toMatchObject({ value: { keys: [{ hash: keyHashOf(key) }] } });
    expect((await penstock("key", "hash", key)).out.trim()).toBe(keyHashOf(key));
    expect((await penstock("key", "list")).out).toMatch(/^app +yes +all$/m);
  });
});

describe("the command line", () => {
  test("no region: exit code 3 and what to do", async () => {
    env = { ...env, PENSTOCK_URL: "http://127.0.0.1:1" };
    expect(await penstock("get")).toMatchObject({ code: 3, err: expect.stringContaining("penstock up") });
  });

  test("the region is found by what `penstock up` noted in its data folder", async () => {
    writeFileSync(join(folder, "address.json"), JSON.stringify({ url: env.PENSTOCK_URL }));
    deployIris();
    env = { PATH: env.PATH, HOME: folder, PENSTOCK_DATA_DIR: folder };
    expect((await penstock("get", "--names")).out).toBe("iris\n");
  });

  test("the options that every command takes may stand before the command, between or after", async () => {
    deployIris();
    const url = env.PENSTOCK_URL ?? "";
    env = { ...env, PENSTOCK_URL: "http://127.0.0.1:1" };
    const orders = [
      ["--url", url, "--json", "get", "iris"],
      ["--json", "get", "--url", url, "iris"],
      ["get", "iris", "--json", "--url", url],
    ];
    for (const order of orders) expect(JSON.parse((await penstock(...order)).out).name).toBe("iris");
    const list = [
      ["--url", url, "key", "--json", "list"],
      ["key", "list", "--json", "--url", url],
    ];
    for (const order of list) expect(JSON.parse((await penstock(...order)).out).keys).toEqual([]);
    expect((await penstock("--url", "http://127.0.0.1:1", "get", "--url", url)).code).toBe(0);
    const refused = await penstock("--url", url, "up");
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("up takes no --url") });
  });

  test("the help of each command ends with examples that it understands", async () => {
    const program = buildProgram();
    for (const [name, lines] of Object.entries(EXAMPLES)) {
      const command = program.commands.find((one) => one.name() === name);
      const flags = new Set(
        command?.options.concat(...command.commands.map((one) => one.options)).map((one) => one.long),
      );
      for (const line of lines) {
        expect(line).toContain(`penstock ${name}`);
        for (const [flag] of line.replace(/'[^']*'|#.*/g, "").matchAll(/--[a-z-]+/g))
          expect(flags, line).toContain(flag);
      }
    }
    expect((await penstock("scale", "--help")).out).toContain("penstock scale flowers --min 0");
  });

  test("an unknown command or a bad number is a usage error, code 2", async () => {
    expect((await penstock("bogus")).code).toBe(2);
    expect(await penstock("scale", "iris", "--min", "x")).toMatchObject({
      code: 2,
      err: expect.stringContaining("must be a whole number from 0 to 100000"),
    });
  });

  test("an unknown endpoint names those there are; --debug adds the code", async () => {
    deployIris();
    const { code, err } = await penstock("describe", "irsi", "--debug");
    expect([code, err]).toEqual([1, expect.stringMatching(/There is: iris[\s\S]*PENSTOCK_NO_SUCH_ENDPOINT/)]);
    expect((await penstock("describe", "irsi")).err).not.toContain("PENSTOCK_");
  });

  test("the bash completion is a script that bash takes and that completes commands, flags and endpoints", async () => {
    deployIris();
    const script = (await penstock("completion", "bash")).out;
    const ask = `penstock() { ${process.execPath} ${PROGRAM} "$@"; }
${script}
try() { COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=(); _penstock; echo "\${COMPREPLY[@]}"; }
try penstock ro; try penstock scale --m; try penstock describe ir; try penstock completion f
unset PENSTOCK_URL
try penstock --url ${env.PENSTOCK_URL} --json describe ir; try penstock --url ${env.PENSTOCK_URL} ro`;
    const out = await new Promise<string>((resolve) =>
      execFile("bash", ["-c", ask], { env }, (_error, text) => resolve(text)),
    );
    expect(out.split("\n")).toEqual(["rollback", "--min --max", "iris", "fish", "iris", "rollback", ""]);
  });

  test("zsh and fish get scripts that name every command", async () => {
    for (const shell of ["zsh", "fish"]) {
      const { out } = await penstock("completion", shell);
      for (const command of ["deploy", "rollback", "doctor"]) expect(out).toContain(command);
    }
  });
});
