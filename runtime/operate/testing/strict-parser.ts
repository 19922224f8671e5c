/** A reading as a strict reader of the text format sees it. */
export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|})/;

/**
 * Reads Prometheus text format 0.0.4 and throws on anything a strict reader would: a family told twice or without
 * HELP and TYPE, a reading outside its family, a repeated series, histogram buckets that fall, lack +Inf or disagree
 * with _count. For tests.
 */
export function parseStrictly(text: string): Map<string, ParsedSample[]> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families = new Map<string, ParsedSample[]>();
  const seen = new Set<string>();
  let family = { name: "", type: "" };
  for (const line of text.slice(0, -1).split("\n")) {
    const head = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line);
    if (head?.[1] === "HELP") {
      family = { name: head[2] ?? "", type: "" };
      if (families.has(family.name)) throw new Error(`family ${family.name} is told twice`);
      families.set(family.name, []);
    } else if (head?.[1] === "TYPE") {
      if (head[2] !== family.name || family.type !== "") throw new Error(`stray line: ${line}`);
      family.type = head[3] ?? "";
    } else {
      const sample = parseSample(line);
      checkBelongs(sample, family);
      const series = `${sample.name}${JSON.stringify(sample.labels)}`;
      if (seen.has(series)) throw new Error(`series told twice: ${line}`);
      seen.add(series);
      families.get(family.name)?.push(sample);
    }
  }
  for (const [name, samples] of families) checkBuckets(name, samples);
  return families;
}

function parseSample(line: string): ParsedSample {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) throw new Error(`no name: ${line}`);
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith("{")) {
    rest = rest.slice(1);
    for (;;) {
      const label = LABEL.exec(rest);
      if (label === null) throw new Error(`bad label: ${line}`);
      const [whole, key = "", value = "", end] = label;
      if (key in labels) throw new Error(`label twice: ${line}`);
      labels[key] = value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
      rest = rest.slice(whole.length);
      if (end === "}") break;
    }
  }
  const value = /^ (\+Inf|-Inf|NaN|[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)$/.exec(rest)?.[1];
  if (value === undefined) throw new Error(`bad value: ${line}`);
  return { name, labels, value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value) };
}

function checkBelongs({ name }: ParsedSample, family: { readonly name: string; readonly type: string }): void {
  const suffix = name.slice(family.name.length);
  const allowed = family.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  if (!name.startsWith(family.name) || !allowed.includes(suffix)) throw new Error(`${name} is not of ${family.name}`);
  if (family.type === "counter" && !name.endsWith("_total")) throw new Error(`counter ${name} lacks _total`);
}

function checkBuckets(family: string, samples: readonly ParsedSample[]): void {
  const bySeries = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  for (const group of bySeries.values()) {
    const buckets = group.filter((sample) => sample.name === `${family}_bucket`);
    if (buckets.length === 0) continue;
    const edges = buckets.map(({ labels }) => (labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le)));
    for (const [index, bucket] of buckets.entries()) {
      const before = buckets[index - 1];
      if (before === undefined) continue;
      if (before.value > bucket.value || (edges[index - 1] ?? 0) >= (edges[index] ?? 0)) {
        throw new Error(`buckets of ${family} fall`);
      }
    }
    const count = group.find((sample) => sample.name === `${family}_count`);
    if (edges.at(-1) !== Number.POSITIVE_INFINITY || buckets.at(-1)?.value !== count?.value) {
      throw new Error(`histogram ${family} has no +Inf bucket equal to _count`);
    }
  }
}
