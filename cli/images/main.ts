/** Builds Penstock's images as OCI archives, without a daemon. Usage: npm run images [-- --out DIR] [NAME...] */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { bytesText } from "../../runtime/core/format.ts";
import { processTerminal } from "../terminal/terminal.ts";
import { buildImages, IMAGES, type ImageName } from "./build.ts";

const { values, positionals } = parseArgs({
  options: { out: { type: "string", default: "dist/images" } },
  allowPositionals: true,
});
const terminal = processTerminal(false);
const unknown = positionals.filter((name) => !(IMAGES as readonly string[]).includes(name));
if (unknown.length > 0) {
  terminal.note(
    `error: there is no image named ${unknown.join(", ")}\ntodo: give some of ${IMAGES.join(", ")}, or none for all`,
  );
  process.exitCode = 2;
} else {
  const images = await buildImages({
    root: resolve(import.meta.dirname, "../.."),
    out: resolve(values.out),
    names: positionals.length === 0 ? IMAGES : (positionals as ImageName[]),
    onProgress: (doing) => terminal.note(`building ${doing}`),
  });
  for (const { name, path, digest, sizeBytes } of images) {
    console.log(`${name}  ${digest}  ${bytesText(sizeBytes)}  ${path}`);
  }
}
