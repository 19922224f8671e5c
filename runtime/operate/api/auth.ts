import type { Context, MiddlewareHandler } from "hono";
import { REGION_KEY } from "../../domain/board.ts";
import { keyHashOf } from "../../domain/names.ts";
import { valueOrNull } from "../views/value-or-null.ts";
import { ApiError } from "./errors.ts";
import type { RegionOperations } from "./operations.ts";

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/**
 * Lets a request through that holds an admin key, or any where the region asks for none. A region without keys still
 * refuses what a web page of another site sends to it: a foreign Origin, or a name that was re-bound to loopback.
 */
export function requireAdmin(operations: RegionOperations): MiddlewareHandler {
  return async (c, next) => {
    const keys = valueOrNull(operations.board.get("keys", REGION_KEY));
    if (keys?.required === true) checkKey(c, keys.keys);
    else checkSameSite(c);
    await next();
  };
}

function checkKey(
  c: Context,
  keys: readonly { readonly hash: string; readonly admin: boolean; readonly name: string }[],
): void {
  const given = /^Bearer\s+(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
  if (given === undefined) {
    throw new ApiError(
      401,
      "PENSTOCK_KEY_MISSING",
      "this region needs a key",
      "Send `Authorization: Bearer KEY` with an admin key; the CLI takes it from PENSTOCK_KEY or --key.",
    );
  }
  const hash = keyHashOf(given);
  const key = keys.find((candidate) => candidate.hash === hash);
  if (key === undefined) {
    throw new ApiError(401, "PENSTOCK_KEY_UNKNOWN", "this key is not known here", "Check the key, or create another.");
  }
  if (!key.admin) {
    const message = `the key ${key.name} may call endpoints but not the control API`;
    throw new ApiError(403, "PENSTOCK_KEY_NOT_ADMIN", message, "Use a key with admin: true.");
  }
}

function checkSameSite(c: Context): void {
  const host = c.req.header("host") ?? "";
  const origin = c.req.header("origin");
  const sameSite = origin === undefined || origin.replace(/^https?:\/\//, "") === host;
  if (sameSite && (host === "" || LOOPBACK_HOST.test(host))) return;
  throw new ApiError(
    403,
    "PENSTOCK_FOREIGN_ORIGIN",
    `a region without keys answers only to its loopback address, not ${origin ?? host}`,
    "Call it as 127.0.0.1 or localhost, or start it with keys.",
  );
}
