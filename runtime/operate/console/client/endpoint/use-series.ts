import { useEffect, useState } from "preact/hooks";
import { useConsole } from "../live/console-context.ts";
import { appendAnswer, newestMs, type SeriesAnswer, type SeriesByName } from "./series-ring.ts";

/** The region samples once a second. */
const EVERY_MS = 1_000;

/** The last 15 minutes of an endpoint and its versions, kept up to date while the page is visible. */
export function useSeries(endpoint: string): SeriesByName {
  const { api } = useConsole();
  const [held, setHeld] = useState<SeriesByName>(new Map());
  useEffect(() => {
    let series: SeriesByName = new Map();
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const again = async (): Promise<void> => {
      if (!document.hidden) {
        const path = `/endpoints/${endpoint}/series?sinceMs=${newestMs(series)}`;
        // A failed poll changes nothing: the connection's own state is told by the live picture.
        const answer = await api.get<SeriesAnswer>(path).catch(() => null);
        if (ended) return;
        if (answer !== null) {
          series = appendAnswer(series, endpoint, answer);
          setHeld(series);
        }
      }
      timer = setTimeout(() => void again(), EVERY_MS);
    };
    void again();
    return () => {
      ended = true;
      if (timer !== null) clearTimeout(timer);
    };
  }, [api, endpoint]);
  return held;
}
