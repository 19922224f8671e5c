import { readFileSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { mistakesIn, yamlMistake } from "../contract/spec/mistakes.ts";
import { type RegionFile, regionFile } from "../contract/spec/region-file.ts";
import { UserError } from "../core/errors.ts";

/** `scheme:` of two letters or more: a URL or a package reference, no path. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;
/** Most mistakes told at once: more than a screen holds are one mistake made often. */
const MAX_MISTAKES_SHOWN = 50;

/**
 * Reads a region file; paths of models and shadows are relative to its folder and come back absolute.
 * Errors: UserError with its mistakes and where each stands.
 */
export function readRegionFile(path: string): RegionFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UserError(
      "PENSTOCK_REGION_FILE_UNREADABLE",
      `The region file can't be read: ${path} (${(error as Error).message})`,
      "Give the path of a region file with --config, or leave it out for the example region.",
    );
  }
  const file = parseRegionFile(text, path);
  const folder = dirname(resolve(path));
  return {
    ...file,
    endpoints: file.endpoints.map((endpoint) => ({ ...endpoint, model: resolveModel(endpoint.model, folder) })),
    shadows: file.shadows.map((shadow) => ({ ...shadow, module: resolve(folder, shadow.module) })),
  };
}

/** Parses the text of a region file (YAML or JSON). Errors: UserError with every mistake, each with its line and path, up to a bound. */
export function parseRegionFile(text: string, name: string): RegionFile {
  const lineCounter = new LineCounter();
  const { document, input } = parseYaml(text, name, lineCounter);
  const parsed = regionFile.safeParse(input);
  if (parsed.success) return parsed.data;
  const mistakes = mistakesIn(parsed.error.issues, input, "the file")
    .map((mistake) => ({ ...mistake, line: lineOf(document, mistake.keys, lineCounter) }))
    .toSorted((a, b) => a.line - b.line);
  throw invalid(
    name,
    mistakes.map(({ line, path, message }) => `line ${line}, ${path}: ${message}`),
  );
}

function parseYaml(text: string, name: string, lineCounter: LineCounter): { document: Document; input: unknown } {
  const mistakes: string[] = [];
  try {
    const document = parseDocument(text, { prettyErrors: true, lineCounter });
    mistakes.push(...document.errors.map((error) => error.message.trim()));
    if (mistakes.length === 0) return { document, input: document.toJS() ?? {} };
  } catch (error) {
    mistakes.push(yamlMistake(error));
  }
  throw invalid(name, mistakes);
}

/** The line of the deepest key on the way that stands in the file: of a missing setting that of what lacks it. */
function lineOf(document: Document, keys: readonly PropertyKey[], lines: LineCounter): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const key of keys) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      // Unknown settings of one place are told together: the line is the first one's.
      const names = String(key).split(", ");
      const pair = node.items.find((item) => isScalar(item.key) && names.includes(String(item.key.value)));
      if (pair === undefined || !isNode(pair.key)) break;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      const item = node.items[Number(key)];
      if (!isNode(item)) break;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else break;
  }
  return lines.linePos(offset).line;
}

function invalid(name: string, mistakes: readonly string[]): UserError {
  const count = mistakes.length === 1 ? "a mistake" : `${mistakes.length} mistakes`;
  const shown = mistakes.slice(0, MAX_MISTAKES_SHOWN);
  if (shown.length < mistakes.length) shown.push(`and ${mistakes.length - shown.length} more`);
  return new UserError(
    "PENSTOCK_REGION_FILE_INVALID",
    `${name} has ${count}:\n${shown.map((mistake) => `  - ${mistake}`).join("\n")}`,
    "Correct the file and start again; nothing was changed.",
  );
}

function resolveModel(model: string, folder: string): string {
  return model === "" || SCHEME.test(model) || isAbsolute(model) ? model : resolve(folder, model);
}
