import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { shadowName } from "../../runtime/contract/spec/region-file.ts";
import { runUp } from "../../runtime/regions/up.ts";
import { usageError } from "../exit.ts";
import { processTerminal } from "../terminal/terminal.ts";

/** Options of `penstock up`. */
export interface UpOptions {
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
  readonly dataDir?: string;
  readonly shadow?: readonly string[];
  readonly open?: boolean;
  readonly key?: string;
  readonly debug?: boolean;
}

/** `penstock up`: runs a region on this machine until it is told to stop. */
export async function up(options: UpOptions): Promise<void> {
  const exitCode = await runUp(
    {
      configFile: options.config ?? null,
      host: options.host ?? null,
      port: options.port ?? null,
      dataDir: options.dataDir ?? null,
      shadows: (options.shadow ?? []).map(shadowOf),
      key: options.key ?? process.env.PENSTOCK_KEY ?? null,
      debug: options.debug === true,
      onServing: ({ baseUrl }) => {
        if (options.open === true) openBrowser(`${baseUrl}/console`);
      },
    },
    processTerminal(false),
  );
  process.exit(exitCode);
}

/** The shadow that `NAME=FILE` asks for; the file is relative to where the command is given. */
function shadowOf(text: string): { name: string; module: string } {
  const [, name, file] = /^([^=]*)=(.+)$/.exec(text) ?? [];
  const parsed = shadowName.safeParse(name);
  if (parsed.success && file !== undefined) return { name: parsed.data, module: resolve(file) };
  const why =
    parsed.success || name === undefined ? "it must be NAME=FILE" : `its name ${parsed.error.issues[0]?.message}`;
  throw usageError(`--shadow ${text}: ${why}`, "For example --shadow cautious=law.ts.");
}

function openBrowser(url: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  spawn(program, [url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
