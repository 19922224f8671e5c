import { findRegion, RegionClient } from "./client.ts";
import { processTerminal, type Terminal } from "./terminal/terminal.ts";

/** Options that every command takes. */
export interface CommonOptions {
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
  readonly debug?: boolean;
}

/** What a command that talks to a region works with. */
export interface Session {
  readonly terminal: Terminal;
  readonly region: RegionClient;
}

/** The session that the flags and the environment ask for. */
export function openSession(options: CommonOptions): Session {
  return {
    terminal: processTerminal(options.json === true),
    region: new RegionClient(findRegion(options, process.env)),
  };
}

/** A path of the API with an endpoint's name in it. */
export function endpointPath(name: string, rest = ""): string {
  return `/endpoints/${encodeURIComponent(name)}${rest}`;
}
