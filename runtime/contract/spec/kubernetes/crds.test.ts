import { expect, test } from "vitest";
import { stringify } from "yaml";
import { customResourceDefinitions } from "./crds.ts";

test("the resource definitions are what the golden file says: an API that others hold changes on purpose only", async () => {
  const text = customResourceDefinitions()
    .map((definition) => `---\n${stringify(definition, { lineWidth: 0 })}`)
    .join("");
  await expect(text).toMatchFileSnapshot("crds.golden.txt");
});
