import { agoText, bytesText, durationText, latencyText, numberText } from "../../runtime/core/format.ts";
import { printable } from "../../runtime/core/terminal-text.ts";
import type { DecisionRow } from "../../runtime/operate/views/decision-view.ts";
import type { EndpointView } from "../../runtime/operate/views/endpoint-view.ts";
import type { ReplicaView } from "../../runtime/operate/views/replica-view.ts";
import type { VersionView } from "../../runtime/operate/views/version-view.ts";
import { callLine } from "../call-line.ts";
import { callUrl } from "../call-url.ts";
import { type CommonOptions, endpointPath, openSession } from "../session.ts";
import { lastLines } from "../terminal/log-text.ts";
import { statusPaint } from "../terminal/status-paint.ts";
import { type Column, renderTable } from "../terminal/table.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { decisionColumns } from "./decisions.ts";

/** Decisions that `describe` shows; `penstock decisions` has the rest. */
const SHOWN_DECISIONS = 10;

/** `penstock describe NAME`: all that is known of one endpoint. */
export async function describe(name: string, options: CommonOptions): Promise<void> {
  const { terminal, region } = openSession(options);
  const [endpoint, { decisions }] = await Promise.all([
    region.get<EndpointView>(endpointPath(name)),
    region.get<{ decisions: DecisionRow[] }>(
      `/decisions?endpoint=${encodeURIComponent(name)}&limit=${SHOWN_DECISIONS}`,
    ),
  ]);
  if (terminal.json) return terminal.printJson({ ...endpoint, decisions });
  printFacts(terminal, endpoint, region.url);
  if (endpoint.doors.length > 0 && endpoint.status.word !== "failed") {
    terminal.print(`\n${terminal.style.bold("One request")}\n${await callLine(region, endpoint)}`);
  }
  section(terminal, "Versions", endpoint.versions, versionColumns(Date.now()));
  section(terminal, "Replicas", endpoint.replicas, replicaColumns());
  printFailures(terminal, endpoint);
  section(terminal, "Latest decisions", decisions, decisionColumns());
}

function printFacts(terminal: Terminal, endpoint: EndpointView, url: string): void {
  const { style } = terminal;
  const { spec, status, scale, load } = endpoint;
  const traffic =
    spec.traffic.kind === "latest"
      ? `newest version${spec.traffic.canaryPercent < 100 ? `, as a canary of ${spec.traffic.canaryPercent} %` : ""}`
      : spec.traffic.parts.map(({ version, percent }) => `${version} ${percent} %`).join(", ");
  const facts: [string, string][] = [
    ["Endpoint", `${style.bold(endpoint.name)} (generation ${spec.generation}, from ${spec.origin})`],
    ["Status", `${statusPaint(style, status.word)(status.word)}: ${printable(status.reason)}`],
    ...(status.todo === null ? [] : [["What to do", printable(status.todo)] as [string, string]]),
    ["URL", callUrl(url, endpoint.name, endpoint.doors)],
    ["Doors", endpoint.doors.join(", ") || "-"],
    ["Model", `${printable(spec.model) || "-"} (runtime ${spec.runtime})`],
    ["Traffic", traffic],
    ["Concurrency", `${numberText(spec.concurrency.min)} to ${numberText(spec.concurrency.max)} requests in flight`],
    ["Replicas", `${scale.ready} ready, ${scale.wanted ?? "-"} wanted, ${scale.granted ?? "-"} granted`],
    [
      "Load",
      `${numberText(load.qps)} requests/s, p50 ${latencyText(load.p50Ms)}, p99 ${latencyText(load.p99Ms)}, ` +
        `first byte p99 ${latencyText(load.firstByteP99Ms)}, ${load.inFlight} in flight, ${load.queued} queued`,
    ],
    [
      "Trouble",
      `${numberText(load.failedRps)} failed/s, ${numberText(load.turnedAwayRps)} turned away/s, ${numberText(load.retriesRps)} retries/s`,
    ],
    ["Cold starts", numberText(endpoint.coldStarts)],
  ];
  for (const [label, text] of facts) terminal.print(`${style.dim(`${label}:`.padEnd(13))} ${text}`);
}

function section<Row>(terminal: Terminal, title: string, rows: readonly Row[], columns: readonly Column<Row>[]): void {
  if (rows.length === 0) return;
  const { width, style } = terminal;
  terminal.print(`\n${style.bold(title)}`);
  for (const line of renderTable(rows, columns, { width, headPaint: style.dim })) terminal.print(line);
}

function versionColumns(nowMs: number): Column<VersionView>[] {
  return [
    { head: "VERSION", cell: (row) => row.id },
    { head: "PHASE", cell: (row) => row.phase },
    { head: "TRAFFIC", cell: (row) => `${row.weight} %`, align: "right" },
    { head: "READY", cell: (row) => `${row.scale.ready}/${row.scale.wanted ?? "-"}`, align: "right" },
    { head: "PER REPLICA", cell: (row) => numberText(row.targetConcurrency), align: "right" },
    { head: "QPS", cell: (row) => numberText(row.load.qps), align: "right" },
    { head: "P99", cell: (row) => latencyText(row.load.p99Ms), align: "right" },
    { head: "COLD STARTS", cell: (row) => numberText(row.coldStarts), align: "right" },
    { head: "RUNTIME", cell: (row) => row.runtime },
    { head: "SIZE", cell: (row) => bytesText(row.sizeBytes), align: "right" },
    { head: "MADE", cell: (row) => agoText(row.createdAtMs, nowMs) },
  ];
}

function replicaColumns(): Column<ReplicaView>[] {
  return [
    { head: "REPLICA", cell: (row) => row.id },
    { head: "STATE", cell: (row) => row.word },
    { head: "PID", cell: (row) => String(row.pid ?? "-"), align: "right" },
    { head: "IN FLIGHT", cell: (row) => numberText(row.inFlight), align: "right" },
    { head: "CPU", cell: (row) => (row.cpuCores === null ? "-" : row.cpuCores.toFixed(2)), align: "right" },
    { head: "MEMORY", cell: (row) => bytesText(row.residentBytes), align: "right" },
    { head: "STARTUP", cell: (row) => (row.startupMs === null ? "-" : durationText(row.startupMs)), align: "right" },
    { head: "FAILED STARTS", cell: (row) => numberText(row.failedStarts), align: "right" },
    { head: "ADDRESS", cell: (row) => row.address ?? "-" },
  ];
}

/** Why versions were given up and replicas crash, with the last lines they wrote. */
function printFailures(terminal: Terminal, endpoint: EndpointView): void {
  const versions = endpoint.versions.flatMap(({ id, failure }) =>
    failure === null ? [] : [{ title: `${id} failed: ${failure.why}`, lines: failure.lastLog }],
  );
  const replicas = endpoint.replicas
    .filter((replica) => replica.word === "crash-loop" || replica.word === "waiting" || replica.word === "stuck")
    .map(({ id, word, lastLog, lastExit }) => ({ title: `${id} ${word}${exitText(lastExit)}`, lines: lastLog }));
  for (const { title, lines } of [...versions, ...replicas]) {
    terminal.print(`\n${terminal.style.bad(printable(title))}`);
    for (const line of lastLines(lines, terminal.style)) terminal.print(line);
  }
}

function exitText(exit: ReplicaView["lastExit"]): string {
  if (exit === null) return "";
  return exit.signal === null ? ` (ended with exit code ${exit.code})` : ` (ended by ${exit.signal})`;
}
