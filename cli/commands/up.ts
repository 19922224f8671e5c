import { spawn } from "node:child_process";
import { runUp } from "../../runtime/regions/up.ts";
import { processTerminal } from "../terminal/terminal.ts";

/** Options of `penstock up`. */
export interface UpOptions {
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
  readonly dataDir?: string;
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
      key: options.key ?? process.env.PENSTOCK_KEY ?? null,
      verbose: false,
      onServing: ({ baseUrl }) => {
        if (options.open === true) openBrowser(`${baseUrl}/console`);
      },
    },
    processTerminal(false),
  );
  process.exit(exitCode);
}

function openBrowser(url: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  spawn(program, [url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
