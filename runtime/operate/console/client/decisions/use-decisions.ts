import { useEffect, useState } from "preact/hooks";
import { useConsole } from "../live/console-context.ts";
import { addNewest, addOlder, type DecisionPage, type Held } from "./pages.ts";

const EVERY_MS = 2_000;
const PAGE_ROWS = 100;

/** Which decisions: exact names, or "" for all. */
export interface DecisionFilter {
  readonly controller?: string;
  readonly key?: string;
  readonly endpoint?: string;
}

/**
 * The decisions that match, newest first, kept up to date while the page is visible; `loadOlder` gets the page before.
 * Nothing is asked for a filter of null.
 */
export function useDecisions(filter: DecisionFilter | null): {
  readonly held: Held | null;
  readonly error: Error | null;
  readonly loadOlder: () => void;
} {
  const { api } = useConsole();
  const [held, setHeld] = useState<Held | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const query = filter && new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== "")).toString();
  const ask = (rest: string) => api.get<DecisionPage>(`/decisions?${query}&limit=${PAGE_ROWS}${rest}`);

  useEffect(() => {
    let ended = false;
    let timer: ReturnType<typeof setTimeout> | null = null;
    setHeld(null);
    if (query === null) return;
    const again = async (): Promise<void> => {
      if (!document.hidden) {
        const page = await ask("").catch((failure: Error) => failure);
        if (ended) return;
        setError(page instanceof Error ? page : null);
        if (!(page instanceof Error)) setHeld((before) => addNewest(before, page));
      }
      timer = setTimeout(() => void again(), EVERY_MS);
    };
    void again();
    return () => {
      ended = true;
      if (timer !== null) clearTimeout(timer);
    };
  }, [query]);

  const loadOlder = (): void => {
    const oldest = held?.rows.at(-1);
    if (oldest === undefined) return;
    ask(`&beforeId=${oldest.id}`).then((page) => setHeld((before) => before && addOlder(before, page)), setError);
  };
  return { held, error, loadOlder };
}
