import type { Door } from "../runtime/domain/version.ts";

/** Where clients call an endpoint: a server of one's own under any path, a model by its preferred door. */
export function callUrl(regionUrl: string, name: string, doors: readonly Door[]): string {
  if (doors.includes("raw")) return `${regionUrl}/endpoints/${name}/`;
  return doors[0] === "openai"
    ? `${regionUrl}/v1/chat/completions`
    : `${regionUrl}/serving-endpoints/${name}/invocations`;
}
