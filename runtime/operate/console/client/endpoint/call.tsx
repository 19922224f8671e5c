import { useEffect, useState } from "preact/hooks";
import { curlLine, type ModelMetadata, tellsMetadata } from "../../../views/curl-line.ts";
import type { EndpointView } from "../../../views/endpoint-view.ts";
import { useConsole } from "../live/console-context.ts";
import { readKey } from "../live/key.ts";
import { CopyLine } from "../parts/copy-line.tsx";

/** Lines to copy that call the endpoint and put load on it. */
export function Call({ endpoint }: { readonly endpoint: EndpointView }) {
  const { name, doors, scale } = endpoint;
  const metadata = useMetadata(name, tellsMetadata(doors) && scale.ready > 0);
  const reach = { baseUrl: location.origin, keysRequired: readKey() !== null };
  return (
    <section aria-labelledby="call-title">
      <h2 id="call-title">Call it</h2>
      {doors.length === 0 || endpoint.status.word === "failed" ? (
        <p class="faint">The lines stand here once a version of it serves.</p>
      ) : (
        <>
          <CopyLine label="one request" text={curlLine({ name, doors, metadata }, reach)} />
          <CopyLine
            label="load"
            text={`penstock load ${name} --rate ${doors[0] === "openai" ? 2 : 50} --duration 30s`}
          />
        </>
      )}
    </section>
  );
}

/** What the model says of itself; asked only while a replica is ready, since the question would wake one. */
function useMetadata(name: string, mayAsk: boolean): ModelMetadata | null {
  const { api } = useConsole();
  const [metadata, setMetadata] = useState<ModelMetadata | null>(null);
  useEffect(() => {
    if (!mayAsk) return;
    api.document<ModelMetadata>(`/v2/models/${name}`).then(
      setMetadata,
      // The line then asks the model what it is.
      () => {},
    );
  }, [api, name, mayAsk]);
  return metadata;
}
