import { setTimeout as sleep } from "node:timers/promises";
import { durationText } from "../../runtime/core/format.ts";
import { printable } from "../../runtime/core/terminal-text.ts";
import type { EndpointView } from "../../runtime/operate/views/endpoint-view.ts";
import { callLine } from "../call-line.ts";
import {
  type DeployFlags,
  type DeployInput,
  inputFromFlags,
  inputsFromFile,
  modelReference,
  nameFrom,
} from "../deploy-input.ts";
import { type DeployStage, deployStage } from "../deploy-stage.ts";
import { CliError, EXIT, usageError } from "../exit.ts";
import { type CommonOptions, endpointPath, openSession, type Session } from "../session.ts";
import { bar } from "../terminal/bar.ts";
import { lastLines } from "../terminal/log-text.ts";
import { styleFor } from "../terminal/style.ts";

/** Between two tries to get the event stream back: the controller may be starting again. */
const RECONNECT_MS = 500;

/** Options of `penstock deploy`. */
export interface DeployOptions extends CommonOptions, DeployFlags {
  readonly file?: string;
  /** false: --no-wait. */
  readonly wait: boolean;
  /** Seconds. */
  readonly waitTimeout: number;
}

/** `penstock deploy PATH` or `-f FILE`: makes or changes endpoints and waits until their traffic has moved. */
export async function deploy(model: string | undefined, options: DeployOptions): Promise<void> {
  const session = openSession(options);
  if ((model === undefined) === (options.file === undefined)) {
    throw usageError("give a PATH or URL, or -f FILE", "Example: penstock deploy ./model.onnx");
  }
  if (model !== undefined) return deployOne(session, await inputOf(session, model, options), options);
  for (const input of inputsFromFile(options.file ?? ""))
    await deployOne(session, { input, generation: null }, options);
}

interface Wish {
  readonly input: DeployInput;
  /** Generation of the endpoint that the input was made from, or null to replace whatever is there. */
  readonly generation: number | null;
}

async function inputOf({ region, terminal }: Session, model: string, flags: DeployFlags): Promise<Wish> {
  const reference = modelReference(model, process.cwd());
  const name = flags.name ?? nameFrom(reference);
  if (flags.name === undefined) terminal.note(`Endpoint name: ${name} (from the path; --name chooses another)`);
  const existing = await region.find<EndpointView>(endpointPath(name));
  const spec = existing?.spec ?? null;
  return { input: inputFromFlags(name, reference, flags, spec), generation: spec?.generation ?? null };
}

async function deployOne(session: Session, { input, generation }: Wish, options: DeployOptions): Promise<void> {
  const { region, terminal } = session;
  const startedAtMs = Date.now();
  const ifMatch: Record<string, string> = generation === null ? {} : { "if-match": `"${generation}"` };
  const accepted = await region.send<EndpointView>("PUT", endpointPath(input.name), input, ifMatch);
  if (!options.wait) {
    if (terminal.json) terminal.printJson(accepted);
    else terminal.print(`${input.name}: accepted; follow it with \`penstock describe ${input.name}\`.`);
    return;
  }
  const deadline = AbortSignal.timeout(options.waitTimeout * 1_000);
  const done = await waitUntilServed(session, accepted, deadline);
  const tookMs = Date.now() - startedAtMs;
  if (terminal.json)
    return terminal.printJson({ endpoint: input.name, version: done.version, weight: done.weight, tookMs });
  const served = await region.get<EndpointView>(endpointPath(input.name));
  terminal.print(
    `${terminal.style.good("deployed")} ${input.name}: ${done.version} gets ${done.weight} % of the traffic (${durationText(tookMs)})`,
  );
  terminal.print(`  ${await callLine(region, served)}`);
}

/** Follows the endpoint's events until its newest version serves. Errors: CliError when it fails or the time is over. */
async function waitUntilServed(
  { region, terminal }: Session,
  accepted: EndpointView,
  deadline: AbortSignal,
): Promise<Extract<DeployStage, { kind: "done" }>> {
  const { name, spec } = accepted;
  const progress = new Progress(terminal, name);
  while (!deadline.aborted) {
    try {
      for await (const { event, data } of region.events(`/events?endpoint=${encodeURIComponent(name)}`, deadline)) {
        if (event === "removed")
          throw new CliError("PENSTOCK_REMOVED", `${name} was removed meanwhile`, "Deploy it again.");
        const stage = deployStage(JSON.parse(data) as EndpointView, spec);
        if (stage.kind === "under-way") progress.show(stage);
        else {
          progress.end();
          if (stage.kind === "done") return stage;
          throw failure(name, stage);
        }
      }
    } catch (error) {
      // The stream may end with the controller; the deploy itself goes on, so that only its own verdict ends the wait.
      if (error instanceof CliError && error.exitCode !== EXIT.unreachable) throw error;
      if (!(error instanceof CliError) && !deadline.aborted && !(error instanceof TypeError)) throw error;
    }
    if (!deadline.aborted) await sleep(RECONNECT_MS);
  }
  progress.end();
  const todo = `It goes on; see \`penstock describe ${name}\`, or wait longer with --wait-timeout.`;
  throw new CliError("PENSTOCK_WAIT_OVER", `${name} does not serve yet (${progress.last})`, todo, EXIT.timedOut);
}

function failure(name: string, stage: Extract<DeployStage, { kind: "failed" }>): CliError {
  const lines = lastLines(stage.lastLog, styleFor(false))
    .map((line) => `\n${line}`)
    .join("");
  return new CliError("PENSTOCK_DEPLOY_FAILED", `${name}: ${printable(stage.why)}${lines}`, printable(stage.todo));
}

/** Tells the stages: one line that changes on a terminal, a line for each stage elsewhere. */
class Progress {
  readonly #terminal: Session["terminal"];
  readonly #name: string;
  last = "not begun";

  constructor(terminal: Session["terminal"], name: string) {
    this.#terminal = terminal;
    this.#name = name;
  }

  show({ doing, doneRatio }: Extract<DeployStage, { kind: "under-way" }>): void {
    const text = printable(doing);
    if (this.#terminal.live)
      this.#terminal.draw(`${this.#name}: ${text}${doneRatio === null ? "" : ` ${bar(doneRatio)}`}`);
    else if (text !== this.last) this.#terminal.note(`${this.#name}: ${text}`);
    this.last = text;
  }

  end(): void {
    this.#terminal.draw("");
  }
}
