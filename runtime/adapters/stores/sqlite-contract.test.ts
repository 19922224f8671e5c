import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { describeStoreContract, type Stores } from "../../../test/support/store-contract.ts";
import { openStores, type RegionStores } from "./sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "penstock-contract-"));
const opened = new Map<Stores, { readonly path: string; readonly stores: RegionStores }>();
let count = 0;

afterAll(() => {
  for (const { stores } of opened.values()) stores.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(path: string): Stores {
  const stores = openStores(path);
  opened.set(stores, { path, stores });
  return stores;
}

describeStoreContract("SQLite", {
  open: () => {
    count += 1;
    return open(join(folder, `${count}.sqlite`));
  },
  // Opened a second time beside the first, as after a kill: nothing was closed in order.
  reopen: (stores) => open(opened.get(stores)?.path ?? ""),
});
