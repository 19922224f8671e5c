import type { Clock } from "../../ports/clock.ts";

/** Text a reader may leave unread before its feed is ended: it comes back and gets the present state. */
const MAX_UNREAD_CHARS = 4 * 1024 * 1024;
/** Silence after which a sign of life is sent: proxies end streams that are silent for 15 s (DESIGN 5, stall). */
const HEARTBEAT_MS = 10_000;

/** Sent in silence: a comment in the format of server-sent events. */
const HEARTBEAT = ": alive\n\n";

/** An endless answer that is pushed to. */
export interface FeedOptions {
  readonly clock: Clock;
  /** Called at once; returns what ends the pushing. */
  start(push: (text: string) => void): () => void;
}

/** A stream of server-sent events that lives until the client goes, or reads so slowly that too much is waiting for it. */
export function feed({ clock, start }: FeedOptions): Response {
  const encoder = new TextEncoder();
  let end = (): void => {};
  const body = new ReadableStream<Uint8Array>(
    {
      start(stream) {
        let cancelHeartbeat = (): void => {};
        const push = (text: string): void => {
          cancelHeartbeat();
          if ((stream.desiredSize ?? 0) < 0) {
            end();
            stream.close();
            return;
          }
          stream.enqueue(encoder.encode(text));
          cancelHeartbeat = clock.after(HEARTBEAT_MS, () => push(HEARTBEAT));
        };
        let stop = (): void => {};
        let ended = false;
        end = () => {
          ended = true;
          cancelHeartbeat();
          stop();
        };
        push(HEARTBEAT);
        stop = start((text) => {
          if (!ended) push(text);
        });
        if (ended) stop();
      },
      cancel: () => end(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_CHARS }),
  );
  return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
}
