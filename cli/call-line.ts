import { curlLine, type ModelMetadata, tellsMetadata } from "../runtime/operate/views/curl-line.ts";
import type { EndpointView } from "../runtime/operate/views/endpoint-view.ts";
import type { RegionClient } from "./client.ts";

/** The line to copy that sends one request to an endpoint. A model asleep is not woken to tell what it takes. */
export async function callLine(
  region: RegionClient,
  { name, doors, scale }: Pick<EndpointView, "name" | "doors" | "scale">,
): Promise<string> {
  const metadata = tellsMetadata(doors) && scale.ready > 0 ? await metadataOf(region, name) : null;
  const reach = { baseUrl: region.url, keysRequired: region.headers.authorization !== undefined };
  return curlLine({ name, doors, metadata }, reach);
}

/** What an endpoint's model tells of itself; wakes it where it sleeps. */
export function metadataOf(region: RegionClient, name: string): Promise<ModelMetadata | null> {
  return region.document<ModelMetadata>(`/v2/models/${encodeURIComponent(name)}`);
}
