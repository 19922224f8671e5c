import { z } from "zod";
import { nearestName } from "./nearest-name.ts";

/** An object of settings: a name that is none of them is refused in a sentence with those there are, and the nearest. */
export function settings<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? unknownNames(issue.keys, names) : undefined),
  });
}

function unknownNames(unknown: readonly string[], names: readonly string[]): string {
  const meant = unknown.map((name) => nearestName(name, names)).filter((name) => name !== null);
  const what = unknown.length === 1 ? "there is no such setting" : "there are no such settings";
  const guess = meant.length === 0 ? "" : `; did you mean ${meant.join(", ")}?`;
  return `${what}${guess || "."} Allowed here: ${names.join(", ")}`;
}
