import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createLog } from "../adapters/log.ts";
import { UserError } from "../core/errors.ts";
import { curlLine } from "../operate/views/curl-line.ts";
import { type LocalRegion, type LocalRegionOptions, startLocalRegion } from "./local.ts";
import { progressBar, regionBanner } from "./region-text.ts";
import { type EndpointState, isSettled, RegionReader } from "./region-watch.ts";

/** The region that runs when none is named: the two examples. */
const EXAMPLE_REGION = join(import.meta.dirname, "..", "..", "examples", "region.yaml");
/** A controller and a router need a second or two; on a machine busy with something else, many times that. */
const START_LIMIT_MS = 60_000;
/** Each look costs the controller a few ms of CPU while models load. */
const POLL_MS = 100;
/** A terminal sends Ctrl-C to every process of its group, and a launcher passes it on: two this close are one wish. */
const SAME_WISH_MS = 500;

/** Options of `penstock up`. */
export interface UpOptions extends Omit<LocalRegionOptions, "configFile" | "log"> {
  /** Path of the region file; null: the example region. */
  readonly configFile: string | null;
  /** Also tell all that the agent does. */
  readonly debug: boolean;
  /** Admin key for reading the endpoints' states where keys are required; null: they are then not told. */
  readonly key: string | null;
  /** Called once the region answers. */
  readonly onServing?: (region: LocalRegion) => void;
}

/** Where `penstock up` writes. */
export interface Screen {
  /** `draw` works: the last line can be overwritten. */
  readonly live: boolean;
  print(line: string): void;
  /** Replaces the line last drawn; an empty one takes it away. */
  draw(line: string): void;
}

/**
 * Runs a region in the foreground until it is told to end (Ctrl-C, SIGTERM), and tells how to use it. The first signal
 * ends it in order, a second one at once. Resolves with the exit code. Errors: UserError where it can't start.
 */
export async function runUp(options: UpOptions, screen: Screen): Promise<number> {
  const level = options.debug ? "debug" : "warn";
  const log = createLog({ level, human: true });
  const region = await startLocalRegion({ ...options, configFile: options.configFile ?? EXAMPLE_REGION, log });
  const ending = new AbortController();
  const ended = endOnSignals(region, ending, screen);
  const reader = new RegionReader(region.baseUrl, options.key);
  const answered = await Promise.race([reader.answers(START_LIMIT_MS, ending.signal), region.failed]);
  if (answered instanceof UserError) {
    ending.abort();
    region.kill();
    throw answered;
  }
  if (!answered && !ending.signal.aborted) {
    region.kill();
    throw new UserError(
      "PENSTOCK_REGION_NOT_STARTED",
      `The region did not answer at ${region.baseUrl} within ${START_LIMIT_MS / 1_000} s`,
      `Read controller.log and router.log in ${join(region.dataDir, "logs")}.`,
    );
  }
  if (answered) {
    screen.print(regionBanner(region));
    options.onServing?.(region);
    await tellEndpoints(region, reader, ending.signal, screen);
    if (!ending.signal.aborted) screen.print("Ctrl-C ends the region.");
  }
  return ended;
}

function endOnSignals(region: LocalRegion, ending: AbortController, screen: Screen): Promise<number> {
  const INTERRUPTED = 130;
  return new Promise((resolve) => {
    let askedAtMs = 0;
    const end = (): void => {
      if (ending.signal.aborted) {
        if (performance.now() - askedAtMs < SAME_WISH_MS) return;
        region.kill();
        resolve(INTERRUPTED);
        return;
      }
      askedAtMs = performance.now();
      ending.abort();
      screen.draw("");
      screen.print("Ending: requests in flight are finished first. Ctrl-C again ends it at once.");
      void region.stop().then(() => resolve(0));
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, end);
  });
}

/** Follows the endpoints until each one is settled, telling what changes and, of those that serve, the line to copy. */
async function tellEndpoints(
  region: LocalRegion,
  reader: RegionReader,
  signal: AbortSignal,
  screen: Screen,
): Promise<void> {
  const told = new Map<string, string>();
  while (!signal.aborted) {
    const endpoints = await reader.endpoints();
    if (endpoints === null && region.keysRequired) return;
    const moving = (endpoints ?? []).filter((endpoint) => !isSettled(endpoint));
    for (const endpoint of endpoints ?? []) {
      const line = stateLine(endpoint);
      if (told.get(endpoint.name) === line || (screen.live && moving.includes(endpoint))) continue;
      told.set(endpoint.name, line);
      screen.draw("");
      screen.print(line);
      if (isUsable(endpoint)) screen.print(`    ${await lineToCopy(endpoint, region, reader)}`);
    }
    if (endpoints !== null && moving.length === 0) break;
    screen.draw(moving.map(movingText).join("   "));
    await sleep(POLL_MS);
  }
  screen.draw("");
}

const isUsable = ({ status }: EndpointState): boolean => status.word === "ready" || status.word === "asleep";

async function lineToCopy(endpoint: EndpointState, region: LocalRegion, reader: RegionReader): Promise<string> {
  // An endpoint asleep is not woken for it: its model would be loaded to print a line.
  const tells = endpoint.status.word === "ready" && endpoint.doors[0] !== "openai";
  const metadata = tells ? await reader.metadata(endpoint.name) : null;
  return curlLine({ ...endpoint, metadata }, region);
}

/** What an endpoint on its way is at, with a bar where bytes are counted. */
function movingText(endpoint: EndpointState): string {
  const { name, status, prepared } = endpoint;
  if (prepared?.kind !== "working" || prepared.doneBytes === null || prepared.totalBytes === null) {
    return `${name}: ${status.word} (${status.reason})`;
  }
  return `${name}: ${prepared.doing} ${progressBar(prepared.doneBytes, prepared.totalBytes)}`;
}

/** One line on an endpoint that does not change with each byte: where nothing can be overwritten, each tenth is told. */
function stateLine({ name, status, prepared }: EndpointState): string {
  if (prepared?.kind === "working" && prepared.doneBytes !== null && prepared.totalBytes !== null) {
    return `${name}: ${prepared.doing} ${Math.floor((10 * prepared.doneBytes) / prepared.totalBytes) * 10} %`;
  }
  const todo = status.todo === null ? "" : `\n    ${status.todo}`;
  return `${name}: ${status.word} (${status.reason})${todo}`;
}
