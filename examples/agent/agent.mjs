// An agent as a model service: almost all of a request's time is waiting (for tools, for other models), so one process
// carries many requests at once. Listens on $PORT, which Penstock sets.
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const STEP_MS = 100;
const STEPS = 3;
const MAX_BODY_BYTES = 1_048_576;

async function readBody(request) {
  const chunks = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function reply(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const server = createServer(async (request, response) => {
  if (request.method === "GET") return reply(response, 200, { status: "ready" });
  const body = await readBody(request);
  if (body === null) return reply(response, 413, { error: `the body is over ${MAX_BODY_BYTES} bytes` });
  let question;
  try {
    question = JSON.parse(body).question;
  } catch {
    return reply(response, 400, { error: "the body is not JSON" });
  }
  if (typeof question !== "string") return reply(response, 400, { error: 'give {"question": "..."}' });
  for (let step = 0; step < STEPS; step++) await pause(STEP_MS);
  reply(response, 200, { answer: question.toUpperCase(), steps: STEPS });
});

server.listen(Number(process.env.PORT), "127.0.0.1");
process.on("SIGTERM", () => server.close(() => process.exit(0)));
