import type { EndpointInput } from "../contract/spec/endpoint.ts";
import type { ApiKey } from "../domain/board.ts";
import type { EndpointSpec } from "../domain/endpoint.ts";
import { specOf } from "../operate/api/spec-of.ts";

/** What the region file changes about the endpoints that are there. */
export interface FileChanges {
  readonly apply: readonly EndpointSpec[];
  readonly remove: readonly string[];
}

/**
 * The file is the whole truth about endpoints of origin `file`: those it lists are applied (an endpoint of that name
 * made by the API becomes the file's), those it no longer lists are removed. Endpoints of the API are left alone.
 */
export function planFileEndpoints(current: readonly EndpointSpec[], listed: readonly EndpointInput[]): FileChanges {
  const byName = new Map(current.map((spec) => [spec.name, spec]));
  const names = new Set(listed.map((input) => input.name));
  return {
    apply: listed
      .map((input) => specOf(input, byName.get(input.name) ?? null, "file"))
      .filter((spec) => spec !== byName.get(spec.name)),
    remove: current.filter((spec) => spec.origin === "file" && !names.has(spec.name)).map((spec) => spec.name),
  };
}

/** Keys of the region: those of the file, and the others by their hash. A key that stands in both is the file's. */
export function mergeKeys(ofFile: readonly ApiKey[], others: readonly ApiKey[]): readonly ApiKey[] {
  const hashes = new Set(ofFile.map((key) => key.hash));
  return [...ofFile, ...others.filter((key) => !hashes.has(key.hash))];
}
