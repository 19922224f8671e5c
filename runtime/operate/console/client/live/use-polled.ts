import { useEffect, useState } from "preact/hooks";

/** The newest answer of a poll; an error keeps the answer before it. */
export interface Polled<T> {
  readonly value: T | null;
  readonly error: Error | null;
}

/** Asks again every `everyMs` while the page is visible, and at once when `key` changes (what was there is then dropped). */
export function usePolled<T>(ask: () => Promise<T>, everyMs: number, key: string): Polled<T> {
  const [polled, setPolled] = useState<Polled<T> & { readonly key: string }>({ value: null, error: null, key });
  // `ask` is a new function at each render; `key` names what it asks.
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let ended = false;
    const again = async (): Promise<void> => {
      if (!document.hidden) {
        const next = await ask().then(
          (value) => ({ value, error: null, key }),
          (error: Error) => ({ error, key }),
        );
        if (ended) return;
        setPolled((before) => ({ value: before.key === key ? before.value : null, ...next }));
      }
      timer = setTimeout(() => void again(), everyMs);
    };
    void again();
    return () => {
      ended = true;
      if (timer !== null) clearTimeout(timer);
    };
  }, [key, everyMs]);
  return polled.key === key ? polled : { value: null, error: null };
}
