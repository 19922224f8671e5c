/** A duration for people: `850 ms`, `2.4 s`, `3m 05s`, `2h 10m`, `4d 2h`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3_600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days > 0) return `${days}d ${hours}h`;
  if (hours > 0) return `${hours}h ${String(minutes).padStart(2, "0")}m`;
  return `${minutes}m ${String(whole % 60).padStart(2, "0")}s`;
}

/** A latency for people with three significant digits, or `-`. */
export function latencyText(ms: number | null): string {
  if (ms === null) return "-";
  if (ms >= 1_000) return `${(ms / 1_000).toPrecision(3)} s`;
  return `${ms >= 100 ? Math.round(ms) : Number(ms.toPrecision(3))} ms`;
}

/** A rate or count for people: at most one decimal, thousands apart; null is `-`. */
export function numberText(value: number | null): string {
  if (value === null) return "-";
  const rounded = value >= 100 || Number.isInteger(value) ? Math.round(value) : Number(value.toFixed(1));
  return rounded.toLocaleString("en-US");
}

/** Bytes for people, in binary units with one decimal. */
export function bytesText(bytes: number | null): string {
  if (bytes === null) return "-";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, unit] = [bytes, 0];
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** How long ago a time was, for people. */
export function agoText(thenMs: number | null, nowMs: number): string {
  return thenMs === null ? "-" : `${durationText(Math.max(0, nowMs - thenMs)).replace(/\.\d s/, " s")} ago`;
}

/** Local time of day, to the second. */
export function timeText(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** Local time of day, behind the date where the day is another than that of `nowMs`: `12:04:31`, `2026-01-31 12:04:31`. */
export function momentText(ms: number, nowMs: number): string {
  const [date, today] = [dateText(ms), dateText(nowMs)];
  return date === today ? timeText(ms) : `${date} ${timeText(ms)}`;
}

function dateText(ms: number): string {
  const date = new Date(ms);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("-");
}
