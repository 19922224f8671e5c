import { useEffect, useState } from "preact/hooks";
import { DecisionsPage } from "../decisions/decisions-page.tsx";
import { EndpointPage } from "../endpoint/endpoint-page.tsx";
import { EndpointsPage } from "../endpoints/endpoints-page.tsx";
import { isUnwell } from "../endpoints/select.ts";
import { usePicture } from "../live/console-context.ts";
import { LogsPage } from "../logs/logs-page.tsx";
import { Said } from "../parts/said.tsx";
import { RegionPage } from "../region/region-page.tsx";
import { AwayBanner } from "./away-banner.tsx";
import { Header } from "./header.tsx";
import { Help } from "./help.tsx";
import { KeyGate } from "./key-gate.tsx";
import type { Route } from "./route.ts";
import { type Theme, useTheme } from "./theme.ts";
import { goTo, useRoute } from "./use-route.ts";
import { useShortcuts } from "./use-shortcuts.ts";

/** The whole console: header, the page of the route, and what stands over it. */
export function App() {
  const route = useRoute();
  const { theme, toggle } = useTheme();
  const { connection, endpoints } = usePicture();
  const unwell = (endpoints ?? []).filter(isUnwell).length;
  useEffect(() => {
    document.title = titleOf(route, unwell);
  }, [route, unwell]);
  const [isHelpOpen, setHelpOpen] = useState(false);
  useShortcuts({
    help: () => setHelpOpen(true),
    theme: toggle,
    back: () => goTo(parentOf(route)),
  });
  const isAway = connection.kind === "away";
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <Header
        route={route}
        theme={theme}
        connection={connection}
        unwell={unwell}
        onTheme={toggle}
        onHelp={() => setHelpOpen(true)}
      />
      {connection.kind === "away" && <AwayBanner why={connection.why} sinceMs={connection.sinceMs} />}
      <main id="main" tabIndex={-1} class={isAway ? "stale" : ""} aria-busy={connection.kind === "connecting"}>
        {connection.kind === "refused" ? (
          <KeyGate refusal={connection.refusal} />
        ) : (
          <Said>
            <Page route={route} theme={theme} />
          </Said>
        )}
      </main>
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </>
  );
}

function Page({ route, theme }: { readonly route: Route; readonly theme: Theme }) {
  switch (route.page) {
    case "endpoints":
      return <EndpointsPage />;
    case "endpoint":
      return <EndpointPage key={route.name} name={route.name} theme={theme} />;
    case "decisions":
      return <DecisionsPage route={route} />;
    case "logs":
      return <LogsPage source={route.source} />;
    case "region":
      return <RegionPage />;
  }
}

/** The tab's title: where one is, and how many endpoints need a look, also while another tab is open. */
function titleOf(route: Route, unwell: number): string {
  const where = route.page === "endpoint" ? route.name : route.page;
  return `${unwell === 0 ? "" : `(${unwell} not well) `}${where} · Penstock`;
}

/** Where Escape leads: out of an open decision, else to the list. */
function parentOf(route: Route): Route {
  return route.page === "decisions" && route.id !== null ? { ...route, id: null } : { page: "endpoints" };
}
