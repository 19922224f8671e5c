/** Where the console is: a page and what it shows. Kept in the fragment of the address, so that it can be shared. */
export type Route =
  | { readonly page: "endpoints" }
  | { readonly page: "endpoint"; readonly name: string }
  | {
      readonly page: "decisions";
      readonly controller: string;
      readonly key: string;
      /** The decision that is open, or null. */
      readonly id: number | null;
    }
  | { readonly page: "logs"; readonly source: string }
  | { readonly page: "region" };

/** The route of a fragment such as `#/decisions?controller=autoscaler`; anything unknown is the list of endpoints. */
export function parseRoute(fragment: string): Route {
  const [path = "", search = ""] = fragment.replace(/^#\/?/, "").split("?");
  const query = new URLSearchParams(search);
  const [page, name] = path.split("/");
  switch (page) {
    case "endpoints":
      return name ? { page: "endpoint", name: safelyDecoded(name) } : { page: "endpoints" };
    case "decisions":
      return {
        page,
        controller: query.get("controller") ?? "",
        key: query.get("key") ?? "",
        id: wholeNumberOrNull(query.get("id")),
      };
    case "logs":
      return { page, source: query.get("source") ?? "" };
    case "region":
      return { page };
    default:
      return { page: "endpoints" };
  }
}

/** The fragment of a route: `parseRoute(hrefOf(route))` is the route again. */
export function hrefOf(route: Route): string {
  switch (route.page) {
    case "endpoint":
      return `#/endpoints/${encodeURIComponent(route.name)}`;
    case "decisions":
      return `#/decisions${queryOf({ controller: route.controller, key: route.key, id: String(route.id ?? "") })}`;
    case "logs":
      return `#/logs${queryOf({ source: route.source })}`;
    default:
      return `#/${route.page}`;
  }
}

function queryOf(values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ""));
  return query.size === 0 ? "" : `?${query}`;
}

function wholeNumberOrNull(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
