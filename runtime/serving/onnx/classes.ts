/** The one request class of a classic model. */
export const INFER = "infer";
