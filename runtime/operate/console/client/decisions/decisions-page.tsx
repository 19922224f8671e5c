import { useEffect, useRef, useState } from "preact/hooks";
import type { DecisionRow } from "../../../views/decision-view.ts";
import { useConsole, usePicture } from "../live/console-context.ts";
import { Empty, ErrorNotice } from "../parts/notice.tsx";
import type { Route } from "../shell/route.ts";
import { goTo } from "../shell/use-route.ts";
import { SEARCH_ATTRIBUTE } from "../shell/use-shortcuts.ts";
import { DecisionDetail } from "./decision-detail.tsx";
import { DecisionTable } from "./decision-table.tsx";
import { useDecisions } from "./use-decisions.ts";

/** Controllers of every region; shadows join them as they are seen. */
const CONTROLLERS = ["autoscaler", "capacity", "fleet", "publisher", "rollout"];
/** A filter applies once typing pauses. */
const TYPING_PAUSE_MS = 300;

/** The decision log: what every controller decided, why and from what; filtered by controller and key. */
export function DecisionsPage({ route }: { readonly route: Extract<Route, { page: "decisions" }> }) {
  const { controller, key, id } = route;
  const { endpoints } = usePicture();
  const isEndpoint = endpoints?.some(({ name }) => name === key) ?? false;
  const about = isEndpoint ? { endpoint: key } : { key };
  const all = useDecisions(about);
  const ofController = useDecisions(controller === "" ? null : { ...about, controller });
  const { held, error, loadOlder } = controller === "" ? all : ofController;
  const beside = all.held?.rows ?? [];
  const seen = new Set([...CONTROLLERS, ...beside.map((row) => row.controller)]);
  if (controller !== "") seen.add(controller);
  const rows = held?.rows ?? [];
  const isListed = rows.some((row) => row.id === id);
  return (
    <>
      <div class="page-head">
        <h1>Decisions</h1>
        <select
          aria-label="Controller"
          value={controller}
          onChange={(event) => goTo({ ...route, controller: event.currentTarget.value, id: null })}
        >
          <option value="">all controllers</option>
          {[...seen].toSorted().map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <KeyFilter value={key} onChange={(next) => goTo({ ...route, key: next, id: null }, "replacing")} />
      </div>
      {error !== null && <ErrorNotice error={error} />}
      {id !== null && held !== null && !isListed && <LinkedDecision id={id} />}
      {held === null && error === null && <p class="faint">Asking the region for its decisions…</p>}
      {held !== null && rows.length === 0 && <NoDecision isFiltered={controller !== "" || key !== ""} />}
      {rows.length > 0 && (
        <DecisionTable
          rows={rows}
          beside={beside}
          openId={id}
          onToggle={(next) => goTo({ ...route, id: next === id ? null : next }, "replacing")}
        />
      )}
      {held?.hasOlder && (
        <p class="more">
          <button type="button" onClick={loadOlder}>
            Load older
          </button>
        </p>
      )}
    </>
  );
}

function KeyFilter({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (next: string): void => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next.trim()), TYPING_PAUSE_MS);
  };
  return (
    <input
      type="search"
      class="filter"
      placeholder="Endpoint or version ( / )"
      aria-label="Only about this endpoint, version or region"
      value={text}
      onInput={(event) => type(event.currentTarget.value)}
      {...{ [SEARCH_ATTRIBUTE]: "" }}
    />
  );
}

/** A decision that was linked to and is older than the list. */
function LinkedDecision({ id }: { readonly id: number }) {
  const { api } = useConsole();
  const [row, setRow] = useState<DecisionRow | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    api.get<DecisionRow>(`/decisions/${id}`).then(setRow, setError);
  }, [api, id]);
  if (error !== null) return <ErrorNotice error={error} />;
  return row === null ? null : <DecisionDetail row={row} shadows={[]} />;
}

function NoDecision({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No decision matches">
      <p>
        Give a whole name: an endpoint's (its versions are shown too), a version's id, or <code>region</code>.
      </p>
      <button type="button" onClick={() => goTo({ page: "decisions", controller: "", key: "", id: null })}>
        Show all decisions
      </button>
    </Empty>
  ) : (
    <Empty title="No decision yet">
      <p>
        Controllers log a decision whenever its reason or its output changes. Deploy a model, and the first ones appear.
      </p>
    </Empty>
  );
}
