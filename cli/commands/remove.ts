import { createInterface } from "node:readline/promises";
import { usageError } from "../exit.ts";
import { type CommonOptions, endpointPath, openSession } from "../session.ts";

/** `penstock delete NAME`: asks first where a person is there to answer. */
export async function remove(name: string, options: CommonOptions & { readonly yes?: boolean }): Promise<void> {
  const { terminal, region } = openSession(options);
  if (options.yes !== true) {
    if (process.stdin.isTTY !== true)
      throw usageError("delete needs --yes without a terminal", `penstock delete ${name} --yes`);
    const prompt = createInterface({ input: process.stdin, output: process.stderr });
    const answer = await prompt.question(`Remove ${name}, its versions and its replicas? [y/N] `);
    prompt.close();
    if (!/^y(es)?$/i.test(answer.trim())) return terminal.note("Nothing was removed.");
  }
  await region.delete(endpointPath(name));
  if (terminal.json) return terminal.printJson({ removed: name });
  terminal.print(`${name} is removed; its replicas finish what they hold, then end.`);
}
