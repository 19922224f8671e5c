import { useState } from "preact/hooks";
import { latencyText, numberText } from "../../../../core/format.ts";
import type { EndpointView } from "../../../views/endpoint-view.ts";
import { usePicture } from "../live/console-context.ts";
import { CopyLine } from "../parts/copy-line.tsx";
import { Meter } from "../parts/meter.tsx";
import { Empty } from "../parts/notice.tsx";
import { Prose } from "../parts/prose.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { hrefOf } from "../shell/route.ts";
import { goTo } from "../shell/use-route.ts";
import { ROW_ATTRIBUTE, SEARCH_ATTRIBUTE } from "../shell/use-shortcuts.ts";
import { capacityOf, filterEndpoints, isUnwell, runtimesOf, totalsOf, worstFirst } from "./select.ts";
import { SparkLine } from "./spark-line.tsx";

/** All endpoints of the region, a row each. */
export function EndpointsPage() {
  const { endpoints } = usePicture();
  const [filter, setFilter] = useState("");
  if (endpoints === null) return <p class="faint">Asking the region for its endpoints…</p>;
  if (endpoints.length === 0) return <NoEndpoint />;
  const shown = worstFirst(filterEndpoints(endpoints, filter));
  return (
    <>
      <div class="page-head">
        <h1>Endpoints</h1>
        <Totals endpoints={endpoints} />
        <input
          type="search"
          class="filter"
          placeholder="Filter by name, status, runtime ( / )"
          aria-label="Filter endpoints"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
          {...{ [SEARCH_ATTRIBUTE]: "" }}
        />
      </div>
      {shown.length === 0 ? (
        <Empty title={`No endpoint matches “${filter}”`}>
          <button type="button" onClick={() => setFilter("")}>
            Show all {endpoints.length}
          </button>
        </Empty>
      ) : (
        <EndpointTable endpoints={shown} />
      )}
    </>
  );
}

function Totals({ endpoints }: { readonly endpoints: readonly EndpointView[] }) {
  const totals = totalsOf(endpoints);
  return (
    <dl class="totals">
      <div>
        <dt>QPS</dt>
        <dd>{numberText(totals.qps)}</dd>
      </div>
      <div>
        <dt>in flight</dt>
        <dd>{numberText(totals.inFlight)}</dd>
      </div>
      <div>
        <dt>replicas ready</dt>
        <dd>
          {totals.ready}
          <span class="faint"> / {totals.wanted}</span>
        </dd>
      </div>
      <div class={totals.unwell > 0 ? "bad-text" : ""}>
        <dt>not well</dt>
        <dd>
          {totals.unwell}
          <span class="faint"> / {totals.endpoints}</span>
        </dd>
      </div>
    </dl>
  );
}

function EndpointTable({ endpoints }: { readonly endpoints: readonly EndpointView[] }) {
  return (
    <table class="grid endpoints">
      <caption class="unseen">Endpoints with their status, load and replicas</caption>
      <thead>
        <tr>
          <th scope="col" class="c-name">
            Endpoint
          </th>
          <th scope="col">Status</th>
          <th scope="col" class="c-spark wide">
            QPS, 2 min
          </th>
          <th scope="col" class="num c-number" title="Requests per second, over the last 10 s">
            QPS
          </th>
          <th scope="col" class="num c-latency">
            p50
          </th>
          <th scope="col" class="num c-latency">
            p99
          </th>
          <th scope="col" class="num c-meter" title="Requests in flight, and what the ready replicas should carry">
            In flight / target
          </th>
          <th scope="col" class="num c-pair" title="Replicas ready, and wanted">
            Ready / wanted
          </th>
        </tr>
      </thead>
      <tbody>
        {endpoints.map((endpoint) => (
          <EndpointRow key={endpoint.name} endpoint={endpoint} />
        ))}
      </tbody>
    </table>
  );
}

function EndpointRow({ endpoint }: { readonly endpoint: EndpointView }) {
  const { sparks } = usePicture();
  const { name, status, load, scale, versions } = endpoint;
  const route = { page: "endpoint", name } as const;
  const { wanted, ready } = scale;
  return (
    <tr class={`opens ${isUnwell(endpoint) ? `unwell-${status.word}` : ""}`} onClick={() => goTo(route)}>
      <th scope="row">
        <a href={hrefOf(route)} {...{ [ROW_ATTRIBUTE]: "" }}>
          {name}
        </a>
        <span class="under faint">{runtimesOf(endpoint).join(", ")}</span>
      </th>
      <td>
        <StatusBadge word={status.word} />
        <span class="under faint" title={status.todo === null ? status.reason : `${status.reason}. ${status.todo}`}>
          {status.reason}
        </span>
        {isUnwell(endpoint) && status.todo !== null && (
          <span class="under todo">
            <Prose text={status.todo} />
          </span>
        )}
      </td>
      <td class="wide">
        <SparkLine readings={sparks.get(name) ?? []} />
      </td>
      <td class="num">{numberText(load.qps)}</td>
      <td class="num">{latencyText(load.p50Ms)}</td>
      <td class="num">{latencyText(load.p99Ms)}</td>
      <td class="num">
        <Meter value={load.inFlight} bound={capacityOf(versions)} label="in flight against target" />
      </td>
      <td class={`num ${wanted !== null && ready < wanted ? "warn-text" : ""}`}>
        {ready}
        <span class="faint"> / {wanted ?? "-"}</span>
      </td>
    </tr>
  );
}

function NoEndpoint() {
  return (
    <Empty title="No endpoint yet">
      <p>Deploy a model from its folder or file; what it is and how it runs is found by looking at it:</p>
      <CopyLine label="deploy a model" text="penstock deploy ./my-model" />
      <p>It appears here by itself, with its progress.</p>
    </Empty>
  );
}
