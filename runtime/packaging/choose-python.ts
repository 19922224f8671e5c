/** A Python interpreter on this machine. */
export interface Python {
  readonly path: string;
  /** `3.11.7`. */
  readonly version: string;
}

/**
 * The interpreter for a model that asks for `wanted` (`3.11.7`): that very version, or else the newest patch of the
 * same minor version (compiled wheels depend on nothing finer). `wanted` null: the newest that MLflow supports.
 * Null where none fits.
 */
export function choosePython(installed: readonly Python[], wanted: string | null): Python | null {
  const newestFirst = installed.toSorted((a, b) => compareVersions(b.version, a.version));
  if (wanted === null) {
    return newestFirst.find(({ version }) => compareVersions(version, NEWEST_SUPPORTED) < 0) ?? null;
  }
  const exact = newestFirst.find(({ version }) => version === wanted);
  return exact ?? newestFirst.find(({ version }) => minorOf(version) === minorOf(wanted)) ?? null;
}

/** First version that is too new: MLflow and the libraries around it have no wheels for it yet. */
const NEWEST_SUPPORTED = "3.14.0";

function minorOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map((part) => Number.parseInt(part, 10) || 0));
  for (let index = 0; index < 3; index++) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
