/**
 * `performance.now()` starts at 0 in each thread; the process-wide monotonic clock is the same for all of them, which the
 * shared flow memory needs. Both tick together, so one offset taken at the start of the thread joins them.
 */
function processMonoMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}

const OFFSET_MS = processMonoMs() - performance.now();

/** Monotonic milliseconds, comparable between all threads of the process. */
export const nowMs = (): number => performance.now() + OFFSET_MS;
