import { useState } from "preact/hooks";
import { DecisionTable } from "../decisions/decision-table.tsx";
import { useDecisions } from "../decisions/use-decisions.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { hrefOf } from "../shell/route.ts";

const SHOWN = 12;

/** The newest decisions about an endpoint and its versions. */
export function RecentDecisions({ endpoint }: { readonly endpoint: string }) {
  const { held, error } = useDecisions({ endpoint });
  const [openId, setOpenId] = useState<number | null>(null);
  const rows = held?.rows.slice(0, SHOWN) ?? [];
  return (
    <section aria-labelledby="decisions-title">
      <div class="section-head">
        <h2 id="decisions-title">Newest decisions</h2>
        <a href={hrefOf({ page: "decisions", controller: "", key: endpoint, id: null })}>all of them</a>
      </div>
      {error !== null && rows.length === 0 && <ErrorNotice error={error} />}
      {rows.length === 0 && error === null && <p class="faint">{held === null ? "Asking…" : "None logged."}</p>}
      {rows.length > 0 && (
        <DecisionTable rows={rows} openId={openId} onToggle={(id) => setOpenId(id === openId ? null : id)} />
      )}
    </section>
  );
}
