import type { Door } from "../domain/version.ts";

/** One input of a model, as the KServe metadata of a version tells it; -1 in a shape is any number. */
export interface TensorInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

/** What the texts say of one endpoint. */
export interface EndpointText {
  readonly name: string;
  readonly doors: readonly Door[];
  /** Inputs of its model, or null where it has none to tell. */
  readonly inputs: readonly TensorInput[] | null;
}

/** How to reach a region. */
export interface Reach {
  /** No slash at the end. */
  readonly baseUrl: string;
  readonly keysRequired: boolean;
}

/** What `penstock up` prints once the region answers. */
export function regionBanner(region: Reach & { readonly name: string; readonly dataDir: string }): string {
  const rows = [
    ["console", `${region.baseUrl}/console`],
    ["API", `${region.baseUrl}/docs`],
    ["metrics", `${region.baseUrl}/metrics`],
    ["data", region.dataDir],
  ];
  const keys = region.keysRequired ? "Keys are required: put one in PENSTOCK_KEY for the lines below.\n" : "";
  return `Region ${region.name} serves at ${region.baseUrl}\n${rows.map(([name = "", at]) => `  ${name.padEnd(8)} ${at}`).join("\n")}\n${keys}`;
}

/** A line to copy that sends one request to an endpoint and gets a right answer, or what comes nearest to it. */
export function curlLine({ name, doors, inputs }: EndpointText, { baseUrl, keysRequired }: Reach): string {
  const key = keysRequired ? ' -H "authorization: Bearer $PENSTOCK_KEY"' : "";
  const post = (path: string, body: unknown): string =>
    `curl ${baseUrl}${path}${key} -H 'content-type: application/json' -d '${shellQuoted(JSON.stringify(body))}'`;
  const [door] = doors;
  switch (door) {
    case "openai":
      return post("/v1/chat/completions", {
        model: name,
        messages: [{ role: "user", content: "What is the capital of France?" }],
      });
    case "mlflow":
    case "kserve":
      return inputs === null
        ? `curl ${baseUrl}/v2/models/${name}${key}`
        : post(`/serving-endpoints/${name}/invocations`, { inputs: exampleInputs(inputs) });
    default:
      return `curl ${baseUrl}/serving-endpoints/${name}/${key}`;
  }
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

/** A bar of 24 cells with percent and bytes, such as `[######------------------]  25 %  23.5 of 93.8 MiB`. */
export function progressBar(doneBytes: number, totalBytes: number): string {
  const CELLS = 24;
  const ratio = totalBytes > 0 ? Math.min(1, doneBytes / totalBytes) : 0;
  const full = Math.floor(ratio * CELLS);
  const percent = String(Math.floor(ratio * 100)).padStart(3);
  return `[${"#".repeat(full)}${"-".repeat(CELLS - full)}] ${percent} %  ${mebibytes(doneBytes)} of ${mebibytes(totalBytes)} MiB`;
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(1);
}
