import { UserError } from "../runtime/core/errors.ts";

/** Exit codes of every command; `penstock --help` tells them. */
export const EXIT = {
  ok: 0,
  /** The region refused, or what was asked for did not come about. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** No region answers at the address. */
  unreachable: 3,
  /** What was asked for goes on, but the time to wait for it is over. */
  timedOut: 4,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

/** An error of the CLI for a person, with the code that the process ends with. */
export class CliError extends UserError {
  readonly exitCode: number;

  constructor(code: `PENSTOCK_${string}`, message: string, todo: string, exitCode: number = EXIT.failed) {
    super(code, message, todo);
    this.exitCode = exitCode;
  }
}

/** A wrong command line. */
export function usageError(message: string, todo: string): CliError {
  return new CliError("PENSTOCK_USAGE", message, todo, EXIT.usage);
}
