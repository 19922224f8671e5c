import { useState } from "preact/hooks";
import type { EndpointView } from "../../../views/endpoint-view.ts";
import { usePicture } from "../live/console-context.ts";
import { Empty } from "../parts/notice.tsx";
import { Prose } from "../parts/prose.tsx";
import { useSay } from "../parts/said.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { hrefOf } from "../shell/route.ts";
import type { Theme } from "../shell/theme.ts";
import { goTo } from "../shell/use-route.ts";
import { type Action, ActionDialog } from "./action-dialog.tsx";
import { ActionBar } from "./actions.tsx";
import { Call } from "./call.tsx";
import { Charts } from "./charts.tsx";
import { RecentDecisions } from "./recent-decisions.tsx";
import { Replicas } from "./replicas.tsx";
import { Versions } from "./versions.tsx";

/** One endpoint: how it stands, its versions, load, replicas, how to call it, and what was decided about it. */
export function EndpointPage({ name, theme }: { readonly name: string; readonly theme: Theme }) {
  const { endpoints } = usePicture();
  const [action, setAction] = useState<Action | null>(null);
  const say = useSay();
  if (endpoints === null) return <p class="faint">Asking the region for {name}…</p>;
  const endpoint = endpoints.find((candidate) => candidate.name === name);
  if (endpoint === undefined) return <NoSuchEndpoint name={name} existing={endpoints.map((one) => one.name)} />;
  const done = (what: string): void => {
    if (action === "delete") goTo({ page: "endpoints" });
    setAction(null);
    say(what);
  };
  return (
    <>
      <EndpointHead endpoint={endpoint} onAction={setAction} />
      <Versions endpoint={endpoint} />
      <Charts endpoint={name} versions={endpoint.versions} theme={theme} />
      <Replicas endpoint={endpoint} />
      <Call endpoint={endpoint} />
      <RecentDecisions endpoint={name} />
      {action !== null && (
        <ActionDialog action={action} endpoint={endpoint} onDone={done} onClose={() => setAction(null)} />
      )}
    </>
  );
}

function EndpointHead({
  endpoint,
  onAction,
}: {
  readonly endpoint: EndpointView;
  readonly onAction: (action: Action) => void;
}) {
  const { name, status, spec } = endpoint;
  return (
    <div class="endpoint-head">
      <nav class="crumbs" aria-label="Breadcrumb">
        <a href={hrefOf({ page: "endpoints" })}>Endpoints</a> <span aria-hidden="true">/</span>
      </nav>
      <h1>{name}</h1>
      <StatusBadge word={status.word} />
      <p class="reason">
        <Prose text={status.reason} />
        {status.todo !== null && (
          <span class="faint">
            {" "}
            <Prose text={status.todo} />
          </span>
        )}
      </p>
      <ActionBar endpoint={endpoint} onAction={onAction} />
      <p class="bounds faint">
        {spec.concurrency.min} to {spec.concurrency.max} in flight
        {spec.concurrency.min === 0 ? ", may sleep" : ""} · {spec.origin === "file" ? "set by the region file · " : ""}
        {spec.model || spec.run.url || spec.run.command?.join(" ")}
      </p>
    </div>
  );
}

function NoSuchEndpoint({ name, existing }: { readonly name: string; readonly existing: readonly string[] }) {
  return (
    <Empty title={`There is no endpoint ${name}`}>
      <p>
        It may have been deleted. <a href={hrefOf({ page: "endpoints" })}>All {existing.length} endpoints</a>
      </p>
    </Empty>
  );
}
