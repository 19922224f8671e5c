// A model that computes one request at a time for a few milliseconds on one core, as an engine without batching behind a lock
// does: Node's single thread is the lock. Listens on $PORT.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const ROUNDS = 2_000;

function compute() {
  let digest = Buffer.from("penstock");
  for (let round = 0; round < ROUNDS; round++) digest = createHash("sha256").update(digest).digest();
  return digest.toString("hex");
}

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const body = JSON.stringify(request.method === "GET" ? { status: "ready" } : { digest: compute() });
    response.writeHead(200, { "content-type": "application/json", "content-length": body.length }).end(body);
  });
});

server.listen(Number(process.env.PORT), "127.0.0.1");
process.on("SIGTERM", () => server.close(() => process.exit(0)));
