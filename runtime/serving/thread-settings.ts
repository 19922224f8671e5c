/** Threads one replica may compute with: its CPU allotment rounded up, at least one. */
export function computeThreads(cpuCount: number): number {
  return Math.max(1, Math.ceil(cpuCount - 1e-9));
}

/**
 * Environment that holds numeric libraries to a replica's CPU allotment. Without it each of them starts a thread per
 * core of the host, and replicas that share a host fight for it. Merged over the parent's environment, under the
 * user's own `run.env`.
 */
export function threadEnvironment(cpuCount: number): Readonly<Record<string, string>> {
  const threads = String(computeThreads(cpuCount));
  return {
    OMP_NUM_THREADS: threads,
    // Idle OpenMP threads sleep at once: spinning would burn the allotment that the next request needs.
    OMP_WAIT_POLICY: "PASSIVE",
    MKL_NUM_THREADS: threads,
    OPENBLAS_NUM_THREADS: threads,
    BLIS_NUM_THREADS: threads,
    VECLIB_MAXIMUM_THREADS: threads,
    NUMEXPR_NUM_THREADS: threads,
    NUMEXPR_MAX_THREADS: threads,
    NUMBA_NUM_THREADS: threads,
    RAYON_NUM_THREADS: threads,
    TF_NUM_INTRAOP_THREADS: threads,
    TF_NUM_INTEROP_THREADS: "1",
    // Tokenizers of Hugging Face deadlock after a fork with parallelism on, and gain nothing on one core.
    TOKENIZERS_PARALLELISM: threads === "1" ? "false" : "true",
    POLARS_MAX_THREADS: threads,
    GOMAXPROCS: threads,
  };
}
