import { createServer } from "node:net";

// A replica that costs as little as can be: answers each request it is sent with the same 1 KB, so that the proxies
// beside it set the pace. Prints its port. Requests of the bench are small and never split over two reads.
const body = "x".repeat(1_024);
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);
const server = createServer({ noDelay: true }, (socket) => {
  socket.on("data", () => socket.write(answer));
  socket.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") process.stdout.write(`${address.port}\n`);
});
