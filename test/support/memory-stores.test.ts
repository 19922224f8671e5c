import { MemoryDecisionLog, MemoryKeptStore, MemorySpecStore } from "./memory-stores.ts";
import { describeStoreContract } from "./store-contract.ts";

describeStoreContract("memory", {
  open: () => ({ specs: new MemorySpecStore(), kept: new MemoryKeptStore(), decisions: new MemoryDecisionLog() }),
  // Stores in memory are themselves what outlives a control.
  reopen: (stores) => stores,
});
