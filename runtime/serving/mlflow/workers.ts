/** Worker processes of a replica and the threads each computes with. */
export interface Workers {
  readonly most: number;
  readonly threadsEach: number;
}

/** Loaded models are seen to take up to this many times the size of their files. */
const MEMORY_PER_ARTIFACT_BYTE = 4;

/**
 * Python runs one request's code at a time in a process, so a replica has a worker per core of its allotment, each with
 * one thread. A model so large that its copies would fill the memory gets one worker with all threads. The replica
 * itself starts fewer workers when it has measured that the model takes more than its files let expect.
 */
export function planWorkers(cpuCount: number, memoryBytes: number, artifactBytes: number): Workers {
  const cores = Math.max(1, Math.floor(cpuCount + 1e-9));
  const fits = artifactBytes * MEMORY_PER_ARTIFACT_BYTE * cores <= memoryBytes;
  return fits ? { most: cores, threadsEach: 1 } : { most: 1, threadsEach: cores };
}
