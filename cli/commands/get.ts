import { latencyText, numberText } from "../../runtime/core/format.ts";
import { printable } from "../../runtime/core/terminal-text.ts";
import type { EndpointView } from "../../runtime/operate/views/endpoint-view.ts";
import { type CommonOptions, endpointPath, openSession } from "../session.ts";
import { statusPaint } from "../terminal/status-paint.ts";
import type { Style } from "../terminal/style.ts";
import { type Column, renderTable } from "../terminal/table.ts";

/** `penstock get [name]`: a row for each endpoint. */
export async function get(
  name: string | undefined,
  options: CommonOptions & { readonly names?: boolean },
): Promise<void> {
  const { terminal, region } = openSession(options);
  const endpoints =
    name === undefined
      ? (await region.get<{ endpoints: EndpointView[] }>("/endpoints")).endpoints
      : [await region.get<EndpointView>(endpointPath(name))];
  if (options.names === true) return terminal.print(endpoints.map((endpoint) => endpoint.name).join("\n"));
  if (terminal.json) return terminal.printJson(name === undefined ? endpoints : endpoints[0]);
  if (endpoints.length === 0) return terminal.print("No endpoints yet. Deploy one: penstock deploy PATH");
  const { width, style } = terminal;
  for (const line of renderTable(endpoints, endpointColumns(style), { width, headPaint: style.dim }))
    terminal.print(line);
  for (const line of unwellLines(endpoints, style)) terminal.print(line);
}

/** Most endpoints that are told of below the table: more of them is one trouble of the region. */
const MAX_TOLD = 5;

/** What is wrong with endpoints that failed or are degraded, whole (the table cuts its last column), and what to do. */
function unwellLines(endpoints: readonly EndpointView[], style: Style): string[] {
  const unwell = endpoints.filter(({ status }) => status.word === "failed" || status.word === "degraded");
  const lines = unwell
    .slice(0, MAX_TOLD)
    .flatMap(({ name, status }) => [
      "",
      `${statusPaint(style, status.word)(`${name} ${status.word}:`)} ${printable(status.reason)}`,
      ...(status.todo === null ? [] : [`  ${printable(status.todo)}`]),
    ]);
  const more = unwell.length - MAX_TOLD;
  return more > 0 ? [...lines, "", `and ${more} more; \`penstock doctor\` tells of all.`] : lines;
}

function endpointColumns(style: Style): Column<EndpointView>[] {
  return [
    { head: "NAME", cell: (row) => row.name, paint: () => style.bold },
    { head: "STATUS", cell: (row) => row.status.word, paint: (row) => statusPaint(style, row.status.word) },
    { head: "READY", cell: (row) => `${row.scale.ready}/${row.scale.wanted ?? "-"}`, align: "right" },
    { head: "QPS", cell: (row) => numberText(row.load.qps), align: "right" },
    { head: "P50", cell: (row) => latencyText(row.load.p50Ms), align: "right" },
    { head: "P99", cell: (row) => latencyText(row.load.p99Ms), align: "right" },
    { head: "IN FLIGHT", cell: (row) => numberText(row.load.inFlight), align: "right" },
    { head: "QUEUED", cell: (row) => numberText(row.load.queued), align: "right" },
    { head: "COLD STARTS", cell: (row) => numberText(row.coldStarts), align: "right" },
    { head: "WHY", cell: (row) => row.status.reason, paint: () => style.dim },
  ];
}
