import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { ShadowSource } from "../contract/wire/launch.ts";
import { UserError } from "../core/errors.ts";
import { type Law, LIVE_LAWS } from "./laws.ts";

const EXAMPLE = "examples/shadow/cautious.ts shows one.";

/** A law that runs in shadow under a name. */
export interface Shadow {
  readonly name: string;
  readonly law: Law;
}

/** The shadows of the region file and of the command line; of two with one name, the command line's. */
export function mergeShadows(
  ofFile: readonly ShadowSource[],
  ofCommand: readonly ShadowSource[],
): readonly ShadowSource[] {
  return [...new Map([...ofFile, ...ofCommand].map((shadow) => [shadow.name, shadow])).values()];
}

/** Loads the law that a module's default export is. Errors: UserError where there is none that could run here. */
export async function loadShadow({ name, module }: ShadowSource): Promise<Shadow> {
  if (!existsSync(module)) {
    const todo = "Give the path of a file: in the region file it is relative to that file.";
    throw new UserError("PENSTOCK_SHADOW_NOT_FOUND", `the module of the shadow ${name} is not there: ${module}`, todo);
  }
  let loaded: { readonly default?: unknown };
  try {
    loaded = await import(pathToFileURL(module).href);
  } catch (error) {
    const message = `the module of the shadow ${name} can't be loaded: ${module}: ${String(error)}`;
    throw new UserError("PENSTOCK_SHADOW_UNUSABLE", message, `Correct it; ${EXAMPLE}`);
  }
  const fault = faultOf(loaded.default);
  if (fault === null) return { name, law: loaded.default as Law };
  throw new UserError("PENSTOCK_SHADOW_UNUSABLE", `${module} is no law for the shadow ${name}: ${fault}`, EXAMPLE);
}

/** Why a value is not a law that could run beside a live one, or null where it is. */
function faultOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return "its default export is no Controller";
  const law = value as Partial<Law>;
  const live = LIVE_LAWS.get(String(law.name));
  if (live === undefined) {
    return `there is no controller ${String(law.name)} to run beside; \`name\` is one of ${[...LIVE_LAWS.keys()].join(", ")}`;
  }
  if (law.scope !== live.scope) return `its \`scope\` is not ${live.scope}, as that of ${live.name} is`;
  const missing = (["observe", "init", "keep", "decide"] as const).find((part) => typeof law[part] !== "function");
  if (missing !== undefined) return `\`${missing}\` is not a function`;
  const paced = [law.pace?.everyMs, law.pace?.minGapMs].every((ms) => Number.isFinite(ms) && (ms as number) > 0);
  return paced ? null : "`pace` needs everyMs and minGapMs, both above 0";
}
