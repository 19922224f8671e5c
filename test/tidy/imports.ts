import type { Finding, Source } from "./source.ts";

/** A room: files whose path matches `files` may import only own files and what `may` matches (paths from the root, or module names). */
interface Room {
  readonly name: string;
  readonly files: RegExp;
  readonly may: RegExp;
}

const CORE = "runtime/core/.*";
const DOMAIN = "runtime/domain/.*";
const CONTRACT = "runtime/contract/.*";
const PORTS = "runtime/ports/.*";

/** The first room that matches a file is its room. Tests may import what they test, test/support and packages. */
const ROOMS: readonly Room[] = [
  room("tests", /\.test\.ts$|^test\//, ".*"),
  room("core", /^runtime\/core\//, "node:crypto"),
  room("contract/wire", /^runtime\/contract\/(wire\/|names)/, CORE, DOMAIN, "runtime/contract/(wire/.*|names\\.ts)"),
  room("contract/spec", /^runtime\/contract\/spec\//, CORE, DOMAIN, "zod", "runtime/contract/spec/.*"),
  room("domain", /^runtime\/domain\//, CORE),
  room("ports", /^runtime\/ports\//, CORE, DOMAIN),
  room("flow", /^runtime\/dataplane\/flow\//, CORE, DOMAIN),
  room(
    "dataplane",
    /^runtime\/dataplane\//,
    CORE,
    DOMAIN,
    CONTRACT,
    PORTS,
    "runtime/dataplane/.*",
    "runtime/adapters/.*",
    "runtime/operate/telemetry/.*",
    "node:.*",
    "@opentelemetry/.*",
  ),
  room(
    "assemble",
    /^runtime\/control\/assemble/,
    CORE,
    DOMAIN,
    CONTRACT,
    PORTS,
    "runtime/control/.*",
    "runtime/driver/.*",
  ),
  room(
    "control",
    /^runtime\/control\/([^/]+)\//,
    CORE,
    DOMAIN,
    PORTS,
    "runtime/contract/(wire|names).*",
    "runtime/control/$1/.*",
  ),
  room("driver", /^runtime\/driver\//, CORE, DOMAIN, PORTS),
  room(
    "packaging",
    /^runtime\/packaging\//,
    CORE,
    DOMAIN,
    PORTS,
    "runtime/node/exec.*",
    "node:.*",
    "yaml",
    "tar-stream",
  ),
  room(
    "adapters",
    /^runtime\/adapters\//,
    CORE,
    DOMAIN,
    CONTRACT,
    PORTS,
    "node:.*",
    "pino",
    "zod",
    "@kubernetes/client-node",
  ),
  room(
    "node",
    /^runtime\/node\//,
    CORE,
    DOMAIN,
    CONTRACT,
    PORTS,
    "runtime/node/.*",
    "runtime/adapters/.*",
    "runtime/packaging/.*",
    "runtime/serving/.*",
    "node:.*",
  ),
  room(
    "serving",
    /^runtime\/serving\//,
    CORE,
    DOMAIN,
    CONTRACT,
    PORTS,
    "runtime/serving/.*",
    "runtime/node/.*",
    "runtime/packaging/.*",
    "runtime/dataplane/wire/.*",
    "runtime/adapters/.*",
    "node:.*",
    "onnxruntime-node",
    "node-llama-cpp",
    "yaml",
  ),
  room(
    "simulator",
    /^runtime\/simulator\//,
    CORE,
    DOMAIN,
    CONTRACT,
    PORTS,
    "runtime/driver/.*",
    "runtime/control/.*",
    "runtime/dataplane/flow/.*",
    "runtime/simulator/.*",
  ),
  room(
    "operate",
    /^runtime\/operate\//,
    CORE,
    DOMAIN,
    CONTRACT,
    PORTS,
    "runtime/operate/.*",
    "runtime/packaging/.*",
    "node:.*",
    "hono.*",
    "@hono/.*",
    "zod",
    "preact.*",
    "uplot.*",
    "esbuild",
    "@opentelemetry/.*",
  ),
  room("plan", /^infra\/plan\//, "runtime/contract/.*", "infra/plan/.*"),
  room("regions", /^runtime\/regions\//, ".*"),
  room("cli", /^cli\//, ".*"),
  room("shadow laws", /^examples\/shadow\//, CORE, DOMAIN, "runtime/control/.*"),
  room("examples", /^examples\//, "node:.*"),
];

function room(name: string, files: RegExp, ...may: readonly string[]): Room {
  return { name, files, may: new RegExp(`^(?:${may.join("|")})$`) };
}

/** Each import stands among those that its room may make; runtime imports no test code. */
export function checkRooms(sources: readonly Source[]): Finding[] {
  return sources.flatMap((source) => {
    const home = ROOMS.find((candidate) => candidate.files.test(source.path));
    if (!home) return [finding(source, 1, "rooms", "this file is in no room of the design (test/tidy/imports.ts)")];
    const folder = home.files.exec(source.path)?.[0] ?? "";
    const may = new RegExp(home.may.source.replaceAll("$1", home.files.exec(source.path)?.[1] ?? ""));
    return source.imports
      .filter(
        (imported) =>
          !(imported.relative && folder !== "" && imported.target.startsWith(folder) && home.name !== "tests"),
      )
      .filter((imported) => !may.test(imported.target))
      .map((imported) => finding(source, imported.line, "rooms", `${home.name} may not import ${imported.target}`));
  });
}

/** No file reaches itself by following imports that exist at run time. */
export function checkCycles(sources: readonly Source[]): Finding[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const state = new Map<string, "open" | "done">();
  const findings: Finding[] = [];
  const visit = (source: Source, trail: readonly string[]): void => {
    state.set(source.path, "open");
    for (const imported of source.imports) {
      const next = imported.typeOnly ? undefined : byPath.get(imported.target);
      if (!next) continue;
      if (state.get(next.path) === "open") {
        const loop = [...trail.slice(trail.indexOf(next.path)), next.path].join(" -> ");
        findings.push(finding(source, imported.line, "cycle", loop));
      } else if (!state.has(next.path)) visit(next, [...trail, next.path]);
    }
    state.set(source.path, "done");
  };
  for (const source of sources) if (!state.has(source.path)) visit(source, [source.path]);
  return findings;
}

/** Every export of runtime and cli is imported by some other file (tests count, but only together with a user outside tests for none). */
export function checkDeadExports(
  sources: readonly Source[],
  exportsOf: (source: Source) => readonly { name: string; line: number }[],
): Finding[] {
  const used = new Map<string, Set<string> | "all">();
  for (const source of sources) {
    for (const imported of source.imports) {
      const sofar = used.get(imported.target);
      if (imported.names === "all" || sofar === "all") used.set(imported.target, "all");
      else used.set(imported.target, new Set([...(sofar ?? []), ...imported.names]));
    }
  }
  return sources
    .filter((source) => /^(runtime|cli)\//.test(source.path) && !source.path.endsWith(".test.ts"))
    .flatMap((source) => {
      const names = used.get(source.path);
      if (names === "all") return [];
      return exportsOf(source)
        .filter((exported) => !names?.has(exported.name))
        .map((exported) => finding(source, exported.line, "dead-export", `${exported.name} is imported nowhere`));
    });
}

function finding(source: Source, line: number, rule: string, says: string): Finding {
  return { rule, path: source.path, line, says };
}
