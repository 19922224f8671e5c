import { sparkPath } from "../live/sparks.ts";

const WIDTH = 120;
const HEIGHT = 22;

/** The QPS of the last two minutes as a line; its top is the highest reading, at least 1. */
export function SparkLine({ readings }: { readonly readings: readonly (number | null)[] }) {
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT + 2} viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`} aria-hidden="true">
      <line x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
      {readings.length > 1 && <polyline points={sparkPath(readings, WIDTH, HEIGHT)} />}
    </svg>
  );
}
