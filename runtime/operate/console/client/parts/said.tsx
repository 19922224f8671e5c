import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

/** Long enough to read two lines twice. */
const SAID_MS = 8_000;

const SayContext = createContext<(text: string) => void>(() => {});

/** Says that something was done, over whatever page is open then. */
export const useSay = (): ((text: string) => void) => useContext(SayContext);

/** Holds what was said last and shows it for a while. */
export function Said({ children }: { readonly children: ComponentChildren }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSaid(""), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <SayContext.Provider value={setSaid}>
      {children}
      <p class="said" role="status">
        {said}
      </p>
    </SayContext.Provider>
  );
}
