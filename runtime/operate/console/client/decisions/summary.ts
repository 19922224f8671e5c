import type { Plain } from "../../../../core/controller.ts";
import { bytesText, durationText, numberText } from "../../../../core/format.ts";
import type { DecisionRow } from "../../../views/decision-view.ts";

/** Longest summary of an output: what fits a table's cell on a wide screen. */
const MAX_CHARS = 140;

/** The inputs of a decision in one line: `demand 12 · target 4`. */
export function inputsSummary(inputs: DecisionRow["inputs"]): string {
  return Object.entries(inputs)
    .map(([name, value]) => `${name} ${valueText(name, value)}`)
    .join(" · ");
}

/** A named value for people: by the unit that its name ends in, else as a number with thousands apart. */
export function valueText(name: string, value: Plain): string {
  if (typeof value === "number") {
    if (name.endsWith("Bytes")) return bytesText(value);
    return name.endsWith("Ms") && !name.endsWith("AtMs") ? durationText(value) : numberText(value);
  }
  return value === null ? "-" : String(value);
}

/** The output of a decision in one line: shares of versions, a route, replicas, or its plain fields. */
export function outputSummary(output: Plain): string {
  if (!isRecord(output)) return output === null ? "nothing" : cut(JSON.stringify(output));
  const { endpoint, versions, replicas } = output;
  if (isRecord(endpoint) && isList(versions)) return cut(routeText(endpoint, versions));
  if (isList(versions)) return cut(versions.map(rolledText).join(" · "));
  if (isList(replicas)) return replicasText(replicas);
  const plain = Object.entries(output).flatMap(([name, value]) => fieldText(name, value));
  return plain.length === 0 ? "nothing" : cut(plain.join(" · "));
}

function rolledText(rolled: Plain): string {
  if (!isRecord(rolled)) return String(rolled);
  const version = isRecord(rolled.version) ? rolled.version.id : rolled.version;
  return `${shortId(String(version))} ${rolled.phase} ${rolled.weight} %`;
}

/** What routers are told of an endpoint: for each version that gets traffic its share, replicas, and most requests in each. */
function routeText(endpoint: { readonly [key: string]: Plain }, versions: readonly Plain[]): string {
  const shares = isList(endpoint.split) ? endpoint.split.filter(isRecord) : [];
  const parts = shares.map(({ version, weight }) => {
    const told = versions.filter(isRecord).find(({ id }) => id === version);
    const replicas = isList(told?.replicas) ? replicasText(told.replicas) : "no replica";
    return `${shortId(String(version))} ${weight} % to ${replicas}, at most ${told?.hardCap ?? "?"} each`;
  });
  return parts.length === 0
    ? `no version serves${endpoint.problem === null ? "" : `: ${endpoint.problem}`}`
    : parts.join(" · ");
}

function replicasText(replicas: readonly Plain[]): string {
  const draining = replicas.filter((replica) => isRecord(replica) && replica.draining === true).length;
  const count = `${replicas.length} replica${replicas.length === 1 ? "" : "s"}`;
  return draining === 0 ? count : `${count}, ${draining} draining`;
}

/** `version` and `endpoint` repeat the decision's key; a record that holds `replicas` is a version's grant. */
function fieldText(name: string, value: Plain): string[] {
  if (name === "version" || name === "endpoint") return [];
  if (isRecord(value)) return "replicas" in value ? [`${name} ${valueText("replicas", value.replicas ?? null)}`] : [];
  return isList(value) ? [] : [`${wordsOf(name)} ${valueText(name, value)}`];
}

/** The hash part of a version's id; its endpoint is told elsewhere. */
function shortId(id: string): string {
  return /-([0-9a-z]{10})$/.exec(id)?.[1] ?? id;
}

/** `targetConcurrency` as `target concurrency`. */
function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function isRecord(value: Plain | undefined): value is { readonly [key: string]: Plain } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isList(value: Plain | undefined): value is readonly Plain[] {
  return Array.isArray(value);
}

function cut(text: string): string {
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS - 1)}…`;
}
