import type { z } from "zod";
import { publicUrl } from "../../core/url-text.ts";

/** One mistake in what a person wrote. */
export interface Mistake {
  /** Keys and indexes from the top; of an unknown setting up to its own name. */
  readonly keys: readonly PropertyKey[];
  /** The same for people: members of a list by their name where they have one, `endpoints.iris.concurrency.max`. */
  readonly path: string;
  /** What must be, and what is there. */
  readonly message: string;
}

/** Longest value that is repeated in a message; a longer one is known to whoever wrote it. */
const MAX_SHOWN_CHARS = 60;

/** The mistakes that zod found in `input`, in the order they stand in. `whole` names the input itself, such as `body`. */
export function mistakesIn(issues: readonly z.core.$ZodIssue[], input: unknown, whole: string): Mistake[] {
  return issues.map((issue) => {
    const keys = issue.code === "unrecognized_keys" ? [...issue.path, issue.keys.join(", ")] : issue.path;
    return { keys, path: pathText(keys, input) || whole, message: sentenceOf(issue, valueAt(input, issue.path)) };
  });
}

/** What is wrong with a YAML text whose reading was broken off with `error`: aliases multiplied, or lists in lists without end. */
export function yamlMistake(error: unknown): string {
  if (error instanceof RangeError) return "it is nested too deep to be read";
  return error instanceof Error ? error.message : String(error);
}

function pathText(keys: readonly PropertyKey[], input: unknown): string {
  let at: unknown = input;
  let text = "";
  for (const key of keys) {
    at = valueAt(at, [key]);
    const name = typeof key === "number" ? nameOf(at) : String(key);
    text += name === null ? `[${String(key)}]` : `.${name}`;
  }
  return text.replace(/^\./, "");
}

/** The name a member of a list gives itself, where it is fit to stand in a path. */
function nameOf(value: unknown): string | null {
  const name = typeof value === "object" && value !== null ? (value as { name?: unknown }).name : undefined;
  return typeof name === "string" && /^[\w-]{1,80}$/.test(name) ? name : null;
}

function valueAt(input: unknown, keys: readonly PropertyKey[]): unknown {
  return keys.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined),
    input,
  );
}

function sentenceOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === "invalid_key") return `its name ${issue.issues[0]?.message ?? "is not allowed"}`;
  const rule = ruleOf(issue);
  if (rule === null) return issue.message;
  if (value === undefined) return `is missing; it ${rule}`;
  const shown =
    typeof value === "object" && value !== null
      ? kindOf(value)
      : JSON.stringify(typeof value === "string" ? publicUrl(value) : value);
  return shown.length > MAX_SHOWN_CHARS ? rule : `${rule}, and is ${shown}`;
}

/** The rule that a value breaks, in plain words; null where the issue's own message is all there is to say. */
function ruleOf(issue: z.core.$ZodIssue): string | null {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${KINDS[issue.expected] ?? `a ${issue.expected}`}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map(String).join(", ")}`;
    case "too_small":
      if (issue.origin === "string") return "must not be empty";
      return isNumber(issue.origin) ? `must be at least ${issue.minimum}` : `must have at least ${issue.minimum}`;
    case "too_big":
      if (isNumber(issue.origin)) return `must be at most ${issue.maximum}`;
      return `must have at most ${issue.maximum}${issue.origin === "string" ? " characters" : ""}`;
    case "invalid_union": {
      const { options } = issue as { readonly options?: readonly unknown[] };
      return options === undefined ? null : `must be one of ${options.map(String).join(", ")}`;
    }
    case "invalid_format":
      return issue.format === "url" ? "must be a URL such as http://127.0.0.1:9000" : issue.message;
    default:
      return null;
  }
}

const isNumber = (origin: string): boolean => origin === "number" || origin === "int" || origin === "bigint";

/** zod's names of kinds, in words of people. */
const KINDS: Readonly<Record<string, string>> = {
  int: "a whole number",
  number: "a number",
  string: "text",
  boolean: "true or false",
  array: "a list",
  object: "a mapping of settings",
  record: "a mapping of names to values",
};

function kindOf(value: object): string {
  return Array.isArray(value) ? "a list" : "a mapping";
}
