import { CommanderError } from "commander";
import { UserError } from "../runtime/core/errors.ts";
import { forTerminal } from "../runtime/core/terminal-text.ts";
import { CliError, EXIT } from "./exit.ts";
import { buildProgram } from "./program.ts";
import { styleFor, wantsColour } from "./terminal/style.ts";

/** The `penstock` command. An error for a person ends it with one message and what to do; a bug shows its stack. */
async function main(argv: readonly string[]): Promise<void> {
  try {
    await buildProgram().parseAsync(argv, { from: "user" });
  } catch (error) {
    report(error, argv.includes("--debug"));
  }
}

function report(error: unknown, debug: boolean): void {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return;
  }
  const style = styleFor(wantsColour(process.env, process.stderr.isTTY === true));
  const write = (text: string): void => {
    process.stderr.write(forTerminal(text));
  };
  process.exitCode = error instanceof CliError ? error.exitCode : EXIT.failed;
  if (error instanceof UserError) {
    const todo = error.todo === "" ? "" : `\n${style.bold("todo:")} ${error.todo}`;
    write(`${style.bad("error:")} ${error.message}${todo}\n`);
    if (debug) write(`${style.dim(error.code)}\n${error.stack ?? ""}\n`);
    return;
  }
  write(`${style.bad("error:")} ${error instanceof Error ? error.message : String(error)}\n`);
  write(
    debug && error instanceof Error
      ? `${error.stack}\n`
      : `${style.bold("todo:")} This is a bug in Penstock; run it again with --debug and report what it shows.\n`,
  );
}

// A reader that has seen enough (`penstock logs | head`) ends the command, quietly.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(EXIT.ok);
  throw error;
});

await main(process.argv.slice(2));
