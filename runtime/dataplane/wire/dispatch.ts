import { HEADERS } from "../../contract/names.ts";
import { problemAnswer } from "./doors/problem.ts";
import { routeOf } from "./doors/route.ts";
import { Exchange, LocalExchange, requestIdOf } from "./exchange.ts";
import { jsonAnswer, type LocalAnswer } from "./http1/answers.ts";
import type { RequestHead } from "./http1/request-head.ts";
import { headProblem } from "./problems.ts";
import { RegionPass } from "./region-pass.ts";
import { isWorthDraining } from "./request-body.ts";
import type { ClientConnection, RequestHandler } from "./server/connection.ts";
import type { ThreadContext } from "./thread-context.ts";

/** Makes the handler of a request by what its target asks for. */
export function dispatch(thread: ThreadContext, client: ClientConnection, head: RequestHead): RequestHandler {
  const headers = () => `${HEADERS.requestId}: ${requestIdOf(head, thread)}\r\n`;
  const route = routeOf(head.target);
  const problem = headProblem(head);
  if (problem !== null) return answerPlainly(client, head, problemAnswer("raw", problem, headers()));
  switch (route.kind) {
    case "health":
      return answerPlainly(client, head, jsonAnswer(200, { status: "ok" }, headers()));
    case "region":
      return new RegionPass(thread, client, head);
    case "local": {
      const isProbe = route.about === "server-live" || route.about === "server-ready";
      const identity = isProbe ? ({ kind: "anonymous" } as const) : thread.directory.keys.identify(head);
      return new LocalExchange(thread, client, head, route, identity);
    }
    case "call": {
      const exchange = new Exchange(thread, client, head, route, thread.directory.keys.identify(head));
      exchange.begin();
      return exchange;
    }
    case "unknown": {
      const message = `nothing answers ${head.method} ${head.target.slice(0, 200)}; models answer at /v1/chat/completions, /serving-endpoints/NAME/invocations, /v2/models/NAME/infer and /endpoints/NAME/...`;
      return answerPlainly(
        client,
        head,
        problemAnswer(route.door, { status: 404, code: "PENSTOCK_UNKNOWN_PATH", message }, headers()),
      );
    }
  }
}

/** Answers from the head alone: after a short body, at once (and then the connection closes) where a long one follows. */
function answerPlainly(client: ClientConnection, head: RequestHead, answer: LocalAnswer): RequestHandler {
  const isDrained = client.isRequestRead || isWorthDraining(head);
  if (!isDrained) client.answer(answer);
  return {
    onBody: () => {},
    onBodyEnd: () => client.answer(answer),
    onClientGone: () => {},
    onDrain: () => {},
  };
}
