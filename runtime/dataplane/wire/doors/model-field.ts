/** Where a scan for the body's `model` stands. */
export type ModelField =
  | { readonly kind: "found"; readonly model: string }
  /** The body ends so far before it can be told. */
  | { readonly kind: "more" }
  | { readonly kind: "absent" }
  | { readonly kind: "malformed"; readonly why: string };

const QUOTE = 34;
const BACKSLASH = 92;
const MORE = { kind: "more" } as const;

/**
 * Finds the top-level member `model` of a JSON object without parsing the rest: strings are skipped by a native search,
 * nested values by counting brackets. Takes the first such member; whether the rest is valid JSON is the replica's to say.
 */
export function findModel(bytes: Buffer): ModelField {
  const member = findMember(bytes, MODEL);
  return member.kind === "found" ? readModel(bytes, member.valueAt) : member;
}

/** Names that are looked for: a name of another length is not read. */
export interface SoughtNames {
  readonly names: ReadonlySet<string>;
  readonly lengths: ReadonlySet<number>;
}

/** Makes names to look for. */
export function soughtNames(...names: readonly string[]): SoughtNames {
  return { names: new Set(names), lengths: new Set(names.map((name) => name.length)) };
}

const MODEL = soughtNames("model");

/** Finds the first top-level member of one of these names, and where its value begins. Scans as `findModel` does. */
export function findMember(
  bytes: Buffer,
  sought: SoughtNames,
):
  | { readonly kind: "found"; readonly name: string; readonly valueAt: number }
  | Exclude<ModelField, { kind: "found" }> {
  let at = skipBlanks(bytes, 0);
  if (at >= bytes.length) return MORE;
  if (bytes[at] !== 123 /* { */) return { kind: "malformed", why: "the body must be a JSON object" };
  at++;
  for (;;) {
    at = skipBlanks(bytes, at);
    if (at >= bytes.length) return MORE;
    if (bytes[at] === 125 /* } */) return { kind: "absent" };
    if (bytes[at] !== QUOTE) return { kind: "malformed", why: `unexpected character at byte ${at} of the body` };
    const keyEnd = stringEnd(bytes, at);
    if (keyEnd < 0) return MORE;
    const name = sought.lengths.has(keyEnd - at - 2) ? bytes.toString("latin1", at + 1, keyEnd - 1) : "";
    at = skipBlanks(bytes, keyEnd);
    if (at >= bytes.length) return MORE;
    if (bytes[at] !== 58 /* : */) return { kind: "malformed", why: `expected ':' at byte ${at} of the body` };
    at = skipBlanks(bytes, at + 1);
    if (sought.names.has(name)) return { kind: "found", name, valueAt: at };
    at = skipValue(bytes, at);
    if (at < 0) return MORE;
    if (bytes[at] === 44 /* , */) at++;
  }
}

function readModel(bytes: Buffer, at: number): ModelField {
  if (at >= bytes.length) return MORE;
  if (bytes[at] !== QUOTE) return { kind: "malformed", why: "`model` must be a string" };
  const end = stringEnd(bytes, at);
  if (end < 0) return MORE;
  try {
    return { kind: "found", model: String(JSON.parse(bytes.toString("utf8", at, end))) };
  } catch {
    return { kind: "malformed", why: "`model` is not a valid JSON string" };
  }
}

function skipBlanks(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) break;
    at++;
  }
  return at;
}

/** Just after the closing quote of the string that opens at `start`, or -1. */
function stringEnd(bytes: Buffer, start: number): number {
  let at = bytes.indexOf(QUOTE, start + 1);
  while (at >= 0) {
    let backslashes = 0;
    while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at + 1;
    at = bytes.indexOf(QUOTE, at + 1);
  }
  return -1;
}

/** Just after the value at `start` (before a `,` or `}` of this level), or -1. */
function skipValue(bytes: Buffer, start: number): number {
  let at = start;
  let depth = 0;
  while (at < bytes.length) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = stringEnd(bytes, at);
      if (at < 0) return -1;
      continue;
    }
    if (byte === 123 || byte === 91) depth++;
    else if (byte === 125 || byte === 93) {
      if (depth === 0) return at;
      depth--;
    } else if (byte === 44 && depth === 0) return at;
    at++;
  }
  return -1;
}
