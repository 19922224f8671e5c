import type { InProcessRuntime } from "../contract.ts";
import { CHAT, COMPLETION, EMBEDDING } from "./classes.ts";

/** GGUF language and embedding models, in process. The library is loaded at the start of an engine. */
export const ggufRuntime: InProcessRuntime = {
  classes: [CHAT, COMPLETION, EMBEDDING],
  start: async (context) => (await import("./engine.ts")).startGguf(context),
};
