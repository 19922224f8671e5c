import { isDeepStrictEqual } from "node:util";
import type { EndpointInput } from "../../contract/spec/endpoint.ts";
import type { EndpointSpec, Origin } from "../../domain/endpoint.ts";

/**
 * The spec that an input asks for. An input that changes nothing gives `previous` itself back; any other is one
 * generation and one deploy above it. `idempotent: null` becomes true for model runtimes and false where the user's own server answers.
 */
export function specOf(input: EndpointInput, previous: EndpointSpec | null, origin: Origin): EndpointSpec {
  const ownServer = input.runtime === "custom" || input.run.command !== null || input.run.url !== null;
  const { generation, deployNumber } = previous ?? { generation: 0, deployNumber: 0 };
  const spec: EndpointSpec = { ...input, idempotent: input.idempotent ?? !ownServer, origin, generation, deployNumber };
  if (previous !== null && isDeepStrictEqual(spec, previous)) return previous;
  return { ...spec, generation: generation + 1, deployNumber: deployNumber + 1 };
}
