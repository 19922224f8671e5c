import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { ApiClient } from "./api-client.ts";
import { readKey } from "./key.ts";
import { LiveStore, type Picture } from "./live-store.ts";

/** What every part of the console works with. */
export interface Console {
  readonly api: ApiClient;
  readonly live: LiveStore;
}

/** Makes the console's one API client and live picture. */
export function createConsole(): Console {
  const api = new ApiClient(readKey);
  return { api, live: new LiveStore(api) };
}

/** Hands the console to every component below. */
export const ConsoleContext = createContext<Console | null>(null);

/** The console of this page. */
export function useConsole(): Console {
  const found = useContext(ConsoleContext);
  if (found === null) throw new Error("no ConsoleContext above this component");
  return found;
}

/** The live picture; the component renders again when it changes. */
export function usePicture(): Picture {
  const { live } = useConsole();
  const [picture, setPicture] = useState(live.picture);
  useEffect(() => {
    setPicture(live.picture);
    return live.subscribe(() => setPicture(live.picture));
  }, [live]);
  return picture;
}
