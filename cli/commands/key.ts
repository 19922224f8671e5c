import { keyHashOf } from "../../runtime/domain/names.ts";
import { type CommonOptions, openSession } from "../session.ts";
import { type Column, renderTable } from "../terminal/table.ts";
import { processTerminal } from "../terminal/terminal.ts";

interface KeyRow {
  readonly name: string;
  readonly endpoints: readonly string[] | null;
  readonly admin: boolean;
}

const COLUMNS: readonly Column<KeyRow>[] = [
  { head: "NAME", cell: (row) => row.name },
  { head: "ADMIN", cell: (row) => (row.admin ? "yes" : "no") },
  { head: "ENDPOINTS", cell: (row) => row.endpoints?.join(", ") ?? "all" },
];

/** `penstock key create NAME`: the key goes to stdout, alone, so that it can be piped. */
export async function keyCreate(
  name: string,
  options: CommonOptions & { readonly endpoint?: readonly string[]; readonly admin?: boolean },
): Promise<void> {
  const { terminal, region } = openSession(options);
  const body = { name, endpoints: options.endpoint ?? null, admin: options.admin === true };
  const created = await region.send<KeyRow & { key: string }>("POST", "/keys", body);
  if (terminal.json) return terminal.printJson(created);
  terminal.print(created.key);
  terminal.note("Keep it now: the region stores only its hash and can't show it again.");
}

/** `penstock key list`. */
export async function keyList(options: CommonOptions): Promise<void> {
  const { terminal, region } = openSession(options);
  const { keys, required } = await region.get<{ keys: KeyRow[]; required: boolean }>("/keys");
  if (terminal.json) return terminal.printJson({ keys, required });
  for (const line of renderTable(keys, COLUMNS, { width: terminal.width, headPaint: terminal.style.dim }))
    terminal.print(line);
  if (!required) terminal.note("This region listens on loopback and asks for no key.");
}

/** `penstock key delete NAME`. */
export async function keyDelete(name: string, options: CommonOptions): Promise<void> {
  const { terminal, region } = openSession(options);
  await region.delete(`/keys/${encodeURIComponent(name)}`);
  if (terminal.json) return terminal.printJson({ removed: name });
  terminal.print(`The key ${name} is removed.`);
}

/** `penstock key hash [KEY]`: what a region file lists as sha256; reads the key from stdin where none is given. */
export async function keyHash(key: string | undefined, options: CommonOptions): Promise<void> {
  const terminal = processTerminal(options.json === true);
  let text = key;
  if (text === undefined) {
    text = "";
    for await (const chunk of process.stdin) text += String(chunk);
  }
  const sha256 = keyHashOf(text.trim());
  if (terminal.json) terminal.printJson({ sha256 });
  else terminal.print(sha256);
}
