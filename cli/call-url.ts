import type { Door } from "../runtime/domain/version.ts";

/** Where clients call an endpoint, by its preferred door. */
export function callUrl(regionUrl: string, name: string, doors: readonly Door[]): string {
  return doors[0] === "openai"
    ? `${regionUrl}/v1/chat/completions`
    : `${regionUrl}/serving-endpoints/${name}/invocations`;
}
