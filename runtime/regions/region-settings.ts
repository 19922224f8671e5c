import { readFileSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { parseDocument } from "yaml";
import type { z } from "zod";
import { type RegionFile, regionFile } from "../contract/spec/region-file.ts";
import { UserError } from "../core/errors.ts";

/** `scheme:` of two letters or more: a URL or a package reference, no path. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;

/**
 * Reads a region file; paths of models and shadows are relative to its folder and come back absolute.
 * Errors: UserError with every mistake and where it stands.
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

/** Parses the text of a region file (YAML or JSON). Errors: UserError with every mistake, each with its path. */
export function parseRegionFile(text: string, name: string): RegionFile {
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0)
    throw invalid(
      name,
      document.errors.map((error) => error.message.trim()),
    );
  const parsed = regionFile.safeParse(document.toJS() ?? {});
  if (parsed.success) return parsed.data;
  throw invalid(name, parsed.error.issues.flatMap(describeIssue));
}

function describeIssue(issue: z.core.$ZodIssue): string[] {
  const where = issue.path.map(String).join(".") || "(top)";
  return [`${where}: ${issue.message}`];
}

function invalid(name: string, mistakes: readonly string[]): UserError {
  const count = mistakes.length === 1 ? "a mistake" : `${mistakes.length} mistakes`;
  return new UserError(
    "PENSTOCK_REGION_FILE_INVALID",
    `${name} has ${count}:\n${mistakes.map((mistake) => `  - ${mistake}`).join("\n")}`,
    "Correct the file and start again; nothing was changed.",
  );
}

function resolveModel(model: string, folder: string): string {
  return model === "" || SCHEME.test(model) || isAbsolute(model) ? model : resolve(folder, model);
}
