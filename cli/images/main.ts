/** Builds Penstock's images as OCI archives, without a daemon. Usage: npm run images [-- --out DIR] [NAME...] */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { bytesText } from "../../runtime/core/format.ts";
import { processTerminal, type Terminal } from "../terminal/terminal.ts";
import { buildImages, IMAGES, type ImageName } from "./build.ts";

const OUT = "dist/images";
const USAGE = `usage: npm run images -- [--out DIR] [NAME...]
  NAME       some of ${IMAGES.join(", ")}; none for all
  --out DIR  folder that gets the archives; ${OUT} if not given`;

async function main(terminal: Terminal, args: readonly string[]): Promise<number> {
  let given: ReturnType<typeof parse>;
  try {
    given = parse(args);
  } catch (error) {
    terminal.note(`error: ${(error as Error).message.split(". ")[0]}\n${USAGE}`);
    return 2;
  }
  const { values, positionals } = given;
  if (values.help) {
    terminal.print(USAGE);
    return 0;
  }
  const unknown = positionals.filter((name) => !(IMAGES as readonly string[]).includes(name));
  if (unknown.length > 0) {
    terminal.note(
      `error: there is no image named ${unknown.join(", ")}\ntodo: give some of ${IMAGES.join(", ")}, or none for all`,
    );
    return 2;
  }
  const names = positionals.length === 0 ? IMAGES : (positionals as ImageName[]);
  try {
    for (const { name, path, digest, sizeBytes } of await build(terminal, resolve(values.out), names)) {
      terminal.print(`${name}  ${digest}  ${bytesText(sizeBytes)}  ${path}`);
    }
    return 0;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // What is not the file system's word is a bug, and its stack belongs to whoever mends it.
    if (code === undefined) throw error;
    terminal.note(`error: ${message}\ntodo: give a folder that can be written and has room, with --out`);
    return 1;
  }
}

function build(terminal: Terminal, out: string, names: readonly ImageName[]) {
  const root = resolve(import.meta.dirname, "../..");
  return buildImages({ root, out, names, onProgress: (doing) => terminal.note(`building ${doing}`) });
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: { out: { type: "string", default: OUT }, help: { type: "boolean", short: "h", default: false } },
    allowPositionals: true,
  });
}

process.exitCode = await main(processTerminal(false), process.argv.slice(2));
