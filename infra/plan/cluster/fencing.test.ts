import { expect, test } from "vitest";
import { stringify } from "yaml";
import { fencingManifests } from "./fencing.ts";

test("the policies that fence leaders are what the golden file says: they decide on every write of the controller", async () => {
  const text = fencingManifests("penstock", "controller")
    .map((manifest) => `---\n${stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false })}`)
    .join("");
  await expect(text).toMatchFileSnapshot("fencing.golden.txt");
});
