/** One reading: its labels in order, its value, and what follows the family's name (histograms: `_bucket`, `_sum`, `_count`). */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  readonly suffix?: string;
}

/** A metric with all its readings. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

/** Media type of the text that `renderExposition` makes. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Prometheus text format 0.0.4; families without readings are left out. */
export function renderExposition(families: readonly MetricFamily[]): string {
  return families
    .filter((family) => family.samples.length > 0)
    .map(({ name, help, type, samples }) => {
      const lines = samples.map((sample) => renderSample(name, sample));
      return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join("\n")}\n`;
    })
    .join("");
}

function renderSample(name: string, { labels, value, suffix = "" }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${renderValue(value)}`;
}

function renderValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
