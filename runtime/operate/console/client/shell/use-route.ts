import { useEffect, useState } from "preact/hooks";
import { hrefOf, parseRoute, type Route } from "./route.ts";

/** The route of the page's address; follows it. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

/** Goes to a route; `replacing` leaves no step in the history (filters that are typed). */
export function goTo(route: Route, how: "adding" | "replacing" = "adding"): void {
  if (how === "adding") location.hash = hrefOf(route);
  else location.replace(hrefOf(route));
}
