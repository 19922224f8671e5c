import { randomBytes } from "node:crypto";
import { createRoute, z } from "@hono/zod-openapi";
import { type ApiKeys, REGION_KEY } from "../../../domain/board.ts";
import { keyHashOf } from "../../../domain/names.ts";
import { valueOrNull } from "../../views/value-or-null.ts";
import type { RouteContext } from "../app.ts";
import { ApiError } from "../errors.ts";
import { answers, ERRORS, keyInput, keyView, nameParam, takes } from "../schemas.ts";

/** 256 bits: not to be guessed. */
const KEY_BYTES = 32;

const listRoute = createRoute({
  method: "get",
  path: "/api/v1/keys",
  tags: ["keys"],
  summary: "Names of the keys and what they open; the keys themselves are kept nowhere",
  responses: { 200: answers(z.object({ required: z.boolean(), keys: z.array(keyView) }), "The keys"), ...ERRORS },
});

const createKeyRoute = createRoute({
  method: "post",
  path: "/api/v1/keys",
  tags: ["keys"],
  summary: "Create a key; this answer is the only place where it can be read",
  request: { body: takes(keyInput) },
  responses: { 201: answers(keyView.extend({ key: z.string() }).openapi("CreatedKey"), "The key, once"), ...ERRORS },
});

const deleteRoute = createRoute({
  method: "delete",
  path: "/api/v1/keys/{name}",
  tags: ["keys"],
  summary: "Remove a key; requests with it are refused from then on",
  request: { params: nameParam },
  responses: { 204: { description: "Removed" }, ...ERRORS },
});

/** Adds the routes over API keys. */
export function addKeyRoutes({ app, operations }: RouteContext): void {
  const present = (): ApiKeys => valueOrNull(operations.board.get("keys", REGION_KEY)) ?? { required: false, keys: [] };

  app.openapi(listRoute, (c) => {
    const { required, keys } = present();
    return c.json({ required, keys: keys.map(({ name, endpoints, admin }) => ({ name, endpoints, admin })) }, 200);
  });

  app.openapi(createKeyRoute, (c) => {
    const { name, endpoints, admin } = c.req.valid("json");
    const { keys } = present();
    if (keys.some((key) => key.name === name)) {
      const todo = "Choose another name, or remove that key first.";
      throw new ApiError(409, "PENSTOCK_KEY_EXISTS", `there is a key named ${name}`, todo);
    }
    const key = `psk_${randomBytes(KEY_BYTES).toString("base64url")}`;
    operations.applyKeys([...keys, { hash: keyHashOf(key), name, endpoints, admin }]);
    return c.json({ name, endpoints, admin, key }, 201);
  });

  app.openapi(deleteRoute, (c) => {
    const { name } = c.req.valid("param");
    const { required, keys } = present();
    const left = keys.filter((key) => key.name !== name);
    if (left.length === keys.length) {
      const todo = `Keys: ${keys.map((key) => key.name).join(", ") || "none"}.`;
      throw new ApiError(404, "PENSTOCK_NO_SUCH_KEY", `there is no key named ${name}`, todo);
    }
    if (required && !left.some((key) => key.admin)) {
      const todo = "Create another admin key first.";
      throw new ApiError(409, "PENSTOCK_LAST_ADMIN_KEY", `${name} is the last admin key of this region`, todo);
    }
    operations.applyKeys(left);
    return c.body(null, 204);
  });
}
