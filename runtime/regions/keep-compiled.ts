import { flushCompileCache } from "node:module";

// Loaded before a process's own code. Node writes what it compiled (NODE_COMPILE_CACHE) when a process ends in order,
// which processes that are killed never do: it is written once all of the start is over.
const START_IS_OVER_MS = 5_000;
setTimeout(() => flushCompileCache(), START_IS_OVER_MS).unref();
