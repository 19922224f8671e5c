/**
 * Replicas by the ratio law of the Kubernetes HPA for a per-replica metric: ceil(count x mean / target), unchanged within
 * the tolerance. Replicas without a reading count as full (at target) on the way down and as empty on the way up; if that
 * correction flips the direction, nothing changes.
 * Source: kubernetes pkg/controller/podautoscaler/replica_calculator.go.
 */
export function hpaReplicas(input: {
  readonly readings: readonly number[];
  /** Replicas that should have a reading and have none. */
  readonly missing: number;
  readonly target: number;
  readonly current: number;
  readonly toleranceRatio: number;
}): number {
  const { readings, missing, target, current, toleranceRatio } = input;
  if (readings.length === 0) return current;
  const sum = readings.reduce((total, reading) => total + reading, 0);
  const ratio = sum / readings.length / target;
  if (missing === 0) {
    return Math.abs(ratio - 1) <= toleranceRatio ? current : Math.ceil(ratio * readings.length);
  }
  const count = readings.length + missing;
  const filled = ratio < 1 ? sum + missing * target : sum;
  const corrected = filled / count / target;
  const flipped = (ratio < 1 && corrected > 1) || (ratio > 1 && corrected < 1);
  if (flipped || Math.abs(corrected - 1) <= toleranceRatio) return current;
  const replicas = Math.ceil(corrected * count);
  const wrongWay = (corrected < 1 && replicas > current) || (corrected > 1 && replicas < current);
  return wrongWay ? current : replicas;
}
