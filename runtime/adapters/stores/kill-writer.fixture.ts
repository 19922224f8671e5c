import { asWallMs } from "../../core/time.ts";
import { openStores } from "./sqlite.ts";

// Writes without end until it is killed; prints a number once all of that number is written.
const stores = openStores(process.argv[2] ?? "");
const incarnation = stores.specs.nextIncarnation();
for (let count = 1; ; count++) {
  stores.specs.put("spec", "iris", { incarnation, count, filler: "x".repeat(20_000) });
  stores.kept.put("autoscaler", "iris-1", { incarnation, count });
  stores.decisions.append({
    controller: "autoscaler",
    key: "iris-1",
    atWallMs: asWallMs(count),
    atMonoMs: count,
    reason: "scale: up",
    inputs: { incarnation, count },
    output: { count },
    replay: null,
  });
  process.stdout.write(`${incarnation} ${count}\n`);
}
