import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";

type FetchHandler = (request: Request) => Response | Promise<Response>;

/** Where to listen: a unix socket, or an address with port 0 for the system's choice. */
export type ListenAt = { readonly path: string } | { readonly host: string; readonly port: number };

/** Serves an app over HTTP/1.1; resolves once it listens. Errors: those of listening (EADDRINUSE and the like). */
export function serveApi(app: { readonly fetch: FetchHandler }, at: ListenAt): Promise<Server> {
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(at, () => {
      server.off("error", reject);
      resolve(server);
    });
  });
}
