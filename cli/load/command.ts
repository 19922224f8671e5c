import { readFileSync } from "node:fs";
import { exampleBody, tellsMetadata } from "../../runtime/operate/views/curl-line.ts";
import type { EndpointView } from "../../runtime/operate/views/endpoint-view.ts";
import { metadataOf } from "../call-line.ts";
import { EXIT, usageError } from "../exit.ts";
import { type CommonOptions, endpointPath, openSession, type Session } from "../session.ts";
import { invocationsPath, type Template, type TemplateRequest, templateRequest } from "./bodies.ts";
import type { LoadPlan } from "./generator.ts";
import { REPORT_MS } from "./pace.ts";
import { parseDurationMs, parseProfile, profileMs, type Segment } from "./profile.ts";
import { liveLine, loadReport, reportLines } from "./report.ts";
import type { Arrivals } from "./schedule.ts";
import { runLoad } from "./threads.ts";

/** Flags of `penstock load`. */
export interface LoadFlags extends CommonOptions {
  readonly rate?: number;
  readonly duration: string;
  readonly profile?: string;
  readonly arrivals: Arrivals;
  readonly seed: number;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly template?: Template;
  readonly stream?: boolean;
  readonly maxTokens: number;
  readonly path?: string;
  readonly connections: number;
  readonly timeout: number;
  readonly threads: number;
}

/** `penstock load TARGET`: open-loop load on an endpoint or a URL; ends with 1 when a request failed. */
export async function load(target: string, flags: LoadFlags): Promise<void> {
  const session = openSession(flags);
  const { terminal } = session;
  const profile = profileOf(flags);
  const plan = await planOf(session, target, profile, flags);
  const cpuAtStart = process.cpuUsage();
  const startedAtMs = performance.now();
  const run = runLoad(plan, flags.threads);

  let interrupted = false;
  const stop = (): void => {
    interrupted = true;
    run.stop();
  };
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);

  let before = { sent: 0, good: 0 };
  const ticker = setInterval(() => {
    const now = run.soFar();
    terminal.draw(liveLine(now, before, performance.now() - startedAtMs, profileMs(profile)));
    before = { sent: now.sent, good: now.good };
  }, REPORT_MS);
  const tally = await run.finished;
  clearInterval(ticker);
  terminal.draw("");

  const cpu = process.cpuUsage(cpuAtStart);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const report = loadReport(tally, seconds, cpu.user + cpu.system, plan.streamed);
  if (terminal.json) terminal.printJson(report);
  else for (const line of reportLines(report, terminal.style)) terminal.print(line);
  if (interrupted) process.exitCode = EXIT.interrupted;
  else if (report.failed > 0) process.exitCode = EXIT.failed;
}

function profileOf(flags: LoadFlags): Segment[] {
  if (flags.profile !== undefined) {
    if (flags.rate !== undefined) throw usageError("give --rate or --profile, not both", "A profile has its rates.");
    return parseProfile(flags.profile);
  }
  const rate = flags.rate ?? 10;
  return [{ fromRps: rate, toRps: rate, durationMs: parseDurationMs(flags.duration) }];
}

async function planOf(session: Session, target: string, profile: Segment[], flags: LoadFlags): Promise<LoadPlan> {
  const isUrl = /^https?:/.test(target);
  if (target.startsWith("https:"))
    throw usageError("load speaks plain HTTP only", "Point it at the region's http address.");
  const url = new URL(isUrl ? target : session.region.url);
  const request = await requestOf(session, isUrl ? null : target, flags);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || 80),
    path: flags.path ?? (isUrl ? `${url.pathname}${url.search}` : request.path),
    headers: session.region.headers,
    body: request.body,
    profile,
    arrivals: flags.arrivals,
    seed: flags.seed,
    maxConnections: flags.connections,
    timeoutMs: flags.timeout,
    streamed: flags.stream === true,
  };
}

async function requestOf(session: Session, endpoint: string | null, flags: LoadFlags): Promise<TemplateRequest> {
  const given = flags.body ?? (flags.bodyFile === undefined ? null : readBody(flags.bodyFile));
  const name = endpoint ?? "model";
  if (flags.template === undefined) {
    return given === null ? ownRequest(session, endpoint, flags) : { path: invocationsPath(name), body: given };
  }
  const request = templateRequest(flags.template, name, chatOptions(flags));
  return { path: request.path, body: given ?? request.body };
}

const chatOptions = (flags: LoadFlags) => ({ stream: flags.stream === true, maxTokens: flags.maxTokens });

/** A request that fits an endpoint: a chat, or what its model says that it takes. Errors: usage, where neither is known. */
async function ownRequest({ region }: Session, endpoint: string | null, flags: LoadFlags): Promise<TemplateRequest> {
  if (endpoint !== null) {
    const { doors } = await region.get<EndpointView>(endpointPath(endpoint));
    if (doors[0] === "openai" && !doors.includes("raw")) return templateRequest("chat", endpoint, chatOptions(flags));
    const body = tellsMetadata(doors) ? exampleBody(await metadataOf(region, endpoint)) : null;
    if (body !== null) return { path: invocationsPath(endpoint), body: JSON.stringify(body) };
  }
  throw usageError(
    "no body for this target",
    "Give --body JSON or --body-file FILE (with --path), or --template iris|chat.",
  );
}

function readBody(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw usageError(`${path} can't be read (${(error as Error).message})`, "Give a file with the body.");
  }
}
