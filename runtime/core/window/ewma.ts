/**
 * One step of an exponentially weighted mean over time: what was known fades by half each `halfLifeMs`, whatever the
 * spacing of the samples. `previous` null = the first sample is taken as it is.
 */
export function ewma(previous: number | null, sample: number, elapsedMs: number, halfLifeMs: number): number {
  if (previous === null) return sample;
  return sample + (previous - sample) * 0.5 ** (elapsedMs / halfLifeMs);
}
