import { useEffect, useState } from "preact/hooks";
import type { LogLine } from "../../../logs/log-book.ts";
import { useConsole } from "../live/console-context.ts";
import { addLines, type HeldLine } from "./log-lines.ts";

const FIRST_LINES = 300;
const RETRY_MS = 2_000;
/** Lines that come within this time are drawn together. */
const GATHER_MS = 100;

/** The newest lines of a source ("" = all), followed; after a break it begins anew. */
export function useLog(source: string): { readonly lines: readonly HeldLine[]; readonly error: Error | null } {
  const { api } = useConsole();
  const [lines, setLines] = useState<readonly HeldLine[]>([]);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const query = new URLSearchParams({ lines: String(FIRST_LINES), ...(source === "" ? {} : { source }) });
    const follow = async (): Promise<void> => {
      let isFirst = true;
      let gathered: LogLine[] = [];
      const show = (): void => {
        const [added, anew] = [gathered, isFirst];
        [gathered, isFirst] = [[], false];
        setLines((held) => addLines(anew ? [] : held, added));
      };
      for await (const { data } of api.events(`/logs/follow?${query}`, stop.signal)) {
        if (gathered.length === 0) setTimeout(show, GATHER_MS);
        gathered.push(JSON.parse(data) as LogLine);
        setError(null);
      }
    };
    const again = async (): Promise<void> => {
      await follow().catch((failure: Error) => {
        if (!stop.signal.aborted) setError(failure);
      });
      if (!stop.signal.aborted) setTimeout(() => void again(), RETRY_MS);
    };
    setLines([]);
    void again();
    return () => stop.abort();
  }, [api, source]);
  return { lines, error };
}
