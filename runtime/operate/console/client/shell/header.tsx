import type { Connection } from "../live/live-store.ts";
import { hrefOf, type Route } from "./route.ts";
import type { Theme } from "./theme.ts";

const PAGES: readonly { readonly label: string; readonly route: Route }[] = [
  { label: "Endpoints", route: { page: "endpoints" } },
  { label: "Decisions", route: { page: "decisions", controller: "", key: "", id: null } },
  { label: "Logs", route: { page: "logs", source: "" } },
  { label: "Region", route: { page: "region" } },
];

const CONNECTION_TEXT: Readonly<Record<Connection["kind"], string>> = {
  connecting: "connecting",
  live: "live",
  away: "away",
  refused: "no access",
};

/** Name, pages, how fresh the picture is, theme and help. */
export function Header({
  route,
  theme,
  connection,
  unwell,
  onTheme,
  onHelp,
}: {
  readonly route: Route;
  readonly theme: Theme;
  readonly connection: Connection;
  /** Endpoints that somebody should look at. */
  readonly unwell: number;
  readonly onTheme: () => void;
  readonly onHelp: () => void;
}) {
  const other = theme === "dark" ? "light" : "dark";
  const isCurrent = (page: Route["page"]) => page === route.page || (page === "endpoints" && route.page === "endpoint");
  return (
    <header class="top">
      <a class="brand" href={hrefOf({ page: "endpoints" })}>
        <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
          <path d="M2 3h5v10H2zM9 3h5v4H9zM9 9h5v4H9z" fill="currentColor" />
        </svg>
        Penstock
      </a>
      <nav aria-label="Pages">
        {PAGES.map(({ label, route: target }) => (
          <a key={label} href={hrefOf(target)} aria-current={isCurrent(target.page) ? "page" : undefined}>
            {label}
            {target.page === "endpoints" && unwell > 0 && (
              <span class="count" title={`${unwell} not well`}>
                {unwell}
                <span class="unseen"> not well</span>
              </span>
            )}
          </a>
        ))}
      </nav>
      <span class={`connection ${connection.kind}`} role="status">
        <span class="dot" aria-hidden="true" />
        {CONNECTION_TEXT[connection.kind]}
      </span>
      <button
        type="button"
        class="quiet"
        onClick={onTheme}
        aria-label={`Switch to ${other}`}
        title={`Switch to ${other} (t)`}
      >
        {theme === "dark" ? "☀" : "☾"}
      </button>
      <button type="button" class="quiet" onClick={onHelp} aria-label="Keyboard help" title="Keyboard help (?)">
        ?
      </button>
    </header>
  );
}
