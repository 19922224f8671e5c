/** One event of a text/event-stream. */
export interface ServerSentEvent {
  readonly event: string;
  readonly data: string;
}

/** Reads a text/event-stream: events with data, in order; comments are passed over. Source: WHATWG HTML, 9.2. */
export async function* readServerSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = parseBlock(text.slice(0, end));
      text = text.slice(end + 2);
      if (event !== null) yield event;
    }
  }
}

function parseBlock(block: string): ServerSentEvent | null {
  const fields = block.split("\n").map((line) => /^(event|data): ?(.*)$/.exec(line));
  const data = fields.filter((field) => field?.[1] === "data").map((field) => field?.[2] ?? "");
  if (data.length === 0) return null;
  return { event: fields.find((field) => field?.[1] === "event")?.[2] ?? "message", data: data.join("\n") };
}
