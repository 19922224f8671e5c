import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Hono } from "hono";
import type { Browser, Page } from "playwright-core";
import { type Api, createApi } from "../../runtime/operate/api/app.ts";
import { serveApi } from "../../runtime/operate/api/serve.ts";
import { mountConsole } from "../../runtime/operate/console/mount.ts";
import type { FakeRegion } from "../../runtime/operate/testing/fake-region.ts";

/** The console of every fixture: it is built at the first page. */
const builtOnce = new Hono();
mountConsole(builtOnce);

/** A browser's page on a region whose API and console are served over a real socket. */
export class ConsoleFixture {
  readonly page: Page;
  /** What the page wrote to its console as an error, and what it threw. */
  readonly errors: string[];
  readonly #api: Api;
  #server: Server;
  readonly #port: number;

  private constructor(page: Page, errors: string[], api: Api, server: Server) {
    this.page = page;
    this.errors = errors;
    this.#api = api;
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Serves the region and opens an empty page; a model's metadata is answered as its router would. */
  static async open(browser: Browser, region: FakeRegion, options: { width?: number; dark?: boolean } = {}) {
    const api = createApi(region);
    api.app.route("/", builtOnce);
    const inputs = [{ name: "features", datatype: "FP32", shape: [-1, 4] }];
    api.app.get("/v2/models/:name", (c) => c.json({ name: c.req.param("name"), inputs }));
    const server = await serveApi(api.app, { host: "127.0.0.1", port: 0 });
    const page = await browser.newPage({
      viewport: { width: options.width ?? 1280, height: 900 },
      colorScheme: options.dark ? "dark" : "light",
    });
    page.setDefaultTimeout(20_000);
    const errors: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    page.on("pageerror", (error) => errors.push(error.message));
    return new ConsoleFixture(page, errors, api, server);
  }

  /** Opens a page of the console and waits for its heading. */
  async goTo(fragment: string): Promise<void> {
    await this.page.goto(`http://127.0.0.1:${this.#port}/console${fragment}`);
    await this.page.locator("h1").waitFor();
  }

  /** Ends the controller's side at once, connections and all. */
  stopServing(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Serves again at the same port. */
  async serveAgain(): Promise<void> {
    this.#server = await serveApi(this.#api.app, { host: "127.0.0.1", port: this.#port });
  }

  async close(): Promise<void> {
    await this.page.close();
    this.#api.close();
    this.stopServing();
  }
}
