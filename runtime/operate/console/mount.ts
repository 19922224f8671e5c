import type { Context, Hono, MiddlewareHandler } from "hono";
import { type Asset, Bundler, CLIENT_FOLDER } from "./bundle.ts";
import { brokenPage, consolePage } from "./page.ts";

/** Nothing but this region's own files and API; uPlot and preact set styles by script, which this allows. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The part of an app that the console is mounted on. */
type MountedOn = Pick<Hono, "get" | "use">;

/**
 * Serves the console at /console. It is built at the first request for it: a region whose console nobody opens pays
 * nothing. The page itself needs no key; the API that it reads does.
 */
export function mountConsole(app: MountedOn, folder: string = CLIENT_FOLDER): void {
  const bundler = new Bundler(folder);
  app.use("/console/*", secure);
  app.get("/console/", (c) => c.redirect("/console", 308));
  app.get("/console", async (c) => {
    const bundle = await bundler.bundle();
    c.header("cache-control", "no-cache");
    return bundle.kind === "built" ? c.html(consolePage(bundle)) : c.html(brokenPage(bundle), 500);
  });
  app.get("/console/:asset", async (c, next) => {
    const bundle = await bundler.bundle();
    const wanted = c.req.param("asset");
    const assets = bundle.kind === "built" ? [bundle.script, bundle.style] : [];
    const asset = assets.find(({ name }) => name === wanted);
    return asset === undefined ? next() : answerAsset(c, asset);
  });
}

const secure: MiddlewareHandler = async (c, next) => {
  await next();
  c.header("content-security-policy", CONTENT_SECURITY_POLICY);
  c.header("x-content-type-options", "nosniff");
  c.header("referrer-policy", "no-referrer");
};

function answerAsset(c: Context, { contentType, bytes }: Asset): Response {
  c.header("content-type", contentType);
  c.header("cache-control", "public, max-age=31536000, immutable");
  return c.body(new Uint8Array(bytes));
}
