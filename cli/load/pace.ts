/** Between two reports of a thread, and two live lines. */
export const REPORT_MS = 1_000;
/** After a stop, requests in flight may still end for this long. */
export const STOP_GRACE_MS = 2_000;
