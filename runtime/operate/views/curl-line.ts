import type { Door } from "../../domain/version.ts";

/** One input of a model, as the KServe metadata of a version tells it; -1 in a shape is any number. */
export interface TensorInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** What a model tells of itself at its KServe metadata, as far as it is needed to ask it. */
export interface ModelMetadata {
  readonly inputs?: readonly TensorInput[];
  /** `example_request`: a body of MLflow's door that was saved with the model. */
  readonly parameters?: { readonly example_request?: unknown };
}

/** What the texts say of one endpoint. */
export interface EndpointText {
  readonly name: string;
  readonly doors: readonly Door[];
  /** What its model tells of itself, or null where it tells nothing. */
  readonly metadata: ModelMetadata | null;
}

/** How to reach a region. */
export interface Reach {
  /** No slash at the end. */
  readonly baseUrl: string;
  readonly keysRequired: boolean;
}

/** Whether a model behind these doors can be asked what it takes; a server of one's own gets no question it may not know. */
export function tellsMetadata(doors: readonly Door[]): boolean {
  return doors.includes("kserve") && !doors.includes("raw");
}

/** A line to copy that sends one request to an endpoint and gets a right answer, or what comes nearest to it. */
export function curlLine({ name, doors, metadata }: EndpointText, { baseUrl, keysRequired }: Reach): string {
  const key = keysRequired ? ' -H "authorization: Bearer $PENSTOCK_KEY"' : "";
  const post = (path: string, body: unknown): string =>
    `curl ${baseUrl}${path}${key} -H 'content-type: application/json' -d '${shellQuoted(JSON.stringify(body))}'`;
  // What a server of one's own speaks is not known: all its doors stand open, and only its own paths surely answer.
  const door = doors.includes("raw") ? "raw" : doors[0];
  switch (door) {
    case "openai":
      return post("/v1/chat/completions", {
        model: name,
        messages: [{ role: "user", content: "What is the capital of France?" }],
      });
    case "mlflow":
    case "kserve": {
      const body = exampleBody(metadata);
      return body === null
        ? `curl ${baseUrl}/v2/models/${name}${key}`
        : post(`/serving-endpoints/${name}/invocations`, body);
    }
    default:
      return `curl ${baseUrl}/endpoints/${name}/${key}`;
  }
}

/** A body of MLflow's door: the request saved with the model, else values of the right type and shape; null where neither is known. */
export function exampleBody(metadata: ModelMetadata | null): unknown {
  const saved = metadata?.parameters?.example_request ?? null;
  if (saved !== null) return saved;
  const inputs = metadata?.inputs ?? [];
  return inputs.length === 0 ? null : { inputs: exampleInputs(inputs) };
}

/** A value of the right type and shape: one input alone as the array itself, several by their names. */
function exampleInputs(inputs: readonly TensorInput[]): unknown {
  const [only] = inputs;
  if (only && inputs.length === 1) return exampleTensor(only);
  return Object.fromEntries(inputs.map((input) => [input.name, exampleTensor(input)]));
}

function exampleTensor({ datatype, shape }: TensorInput): unknown {
  const value = datatype === "BYTES" ? "text" : datatype === "BOOL" ? true : /^(FP|BF)/.test(datatype) ? 0.5 : 1;
  return shape.reduceRight<unknown>((inner, size) => Array.from({ length: size < 0 ? 1 : size }, () => inner), value);
}

/** Makes a text safe between single quotes of a shell. */
function shellQuoted(text: string): string {
  return text.replaceAll("'", "'\\''");
}
