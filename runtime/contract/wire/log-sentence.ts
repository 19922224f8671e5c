/** Fields of a structured log line. */
type Fields = Readonly<Record<string, unknown>>;

/** What the region's own log says of a code, in a sentence; null where its fields are as good as one. */
export function logSentence(code: string, fields: Fields): string | null {
  switch (code) {
    case "PROCESS_DIED":
      return `${fields.process} ended ${exitText(fields)}${startsText(fields.failedStarts)}${whyText(fields.why)}`;
    case "PROCESS_ENDED":
      return `${fields.process} ended ${exitText(fields)}, as it was asked to`;
    case "PROCESS_SILENT_KILLED":
      return `${fields.process} gave no sign of life and was killed; it is started again`;
    case "REPLICA_FAILED":
      return `${fields.replica} failed${whyText(fields.why)}`;
    case "PREPARE_FAILED":
      return `the model could not be prepared${whyText(fields.why)}`;
    default:
      return null;
  }
}

function exitText({ signal, code }: Fields): string {
  return typeof signal === "string" ? `by ${signal}` : `with exit code ${String(code)}`;
}

function startsText(failedStarts: unknown): string {
  if (typeof failedStarts !== "number" || failedStarts === 0) return "";
  return failedStarts === 1 ? " before it was ready" : ` before it was ready, ${failedStarts} starts in a row`;
}

function whyText(why: unknown): string {
  return typeof why === "string" && why !== "" ? `: ${why}` : "";
}
