import type { EndpointView } from "../../runtime/operate/views/endpoint-view.ts";
import { usageError } from "../exit.ts";
import { type CommonOptions, endpointPath, openSession, type Session } from "../session.ts";

/** `penstock split NAME VERSION=PERCENT ... | --canary N | --latest`. */
export async function split(
  name: string,
  parts: readonly string[],
  options: CommonOptions & { readonly canary?: number; readonly latest?: boolean },
): Promise<void> {
  const session = openSession(options);
  const follow = options.latest === true || options.canary !== undefined;
  if (follow === parts.length > 0) {
    throw usageError("give parts, or --canary N, or --latest", `Example: penstock split ${name} a1b2=90 c3d4=10`);
  }
  const traffic = follow
    ? { kind: "latest", canaryPercent: options.canary ?? 100 }
    : { kind: "split", parts: await resolveParts(session, name, parts) };
  report(session, await session.region.send<EndpointView>("PUT", endpointPath(name, "/traffic"), traffic));
}

/** `penstock rollback NAME [--to VERSION]`. */
export async function rollback(name: string, options: CommonOptions & { readonly to?: string }): Promise<void> {
  const session = openSession(options);
  const version = options.to === undefined ? null : await resolveVersion(session, name, options.to);
  report(session, await session.region.send<EndpointView>("POST", endpointPath(name, "/rollback"), { version }));
}

/** `penstock scale NAME --min N --max N`. */
export async function scale(
  name: string,
  options: CommonOptions & { readonly min?: number; readonly max?: number },
): Promise<void> {
  const { min, max } = options;
  if (min === undefined && max === undefined)
    throw usageError("give --min, --max or both", "Example: --min 1 --max 200");
  const session = openSession(options);
  const bounds = { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
  report(session, await session.region.send<EndpointView>("PUT", endpointPath(name, "/concurrency"), bounds));
}

function report({ terminal }: Session, { name, spec }: EndpointView): void {
  if (terminal.json) {
    terminal.printJson(spec);
    return;
  }
  const { traffic, concurrency } = spec;
  const goes =
    traffic.kind === "latest"
      ? `the newest version${traffic.canaryPercent < 100 ? ` (canary ${traffic.canaryPercent} %)` : ""}`
      : traffic.parts.map(({ version, percent }) => `${version} ${percent} %`).join(", ");
  terminal.print(`${name}: traffic to ${goes}; ${concurrency.min} to ${concurrency.max} requests in flight`);
  if (traffic.kind === "split")
    terminal.note(`The next deploy, or \`penstock split ${name} --latest\`, follows the newest version again.`);
}

async function resolveParts(session: Session, name: string, parts: readonly string[]) {
  const { versions } = await session.region.get<EndpointView>(endpointPath(name));
  const ids = versions.map((version) => version.id);
  return parts.map((part) => {
    const [version = "", percent = ""] = part.split("=");
    if (!/^\d{1,3}$/.test(percent)) throw usageError(`${part} is not VERSION=PERCENT`, "Example: a1b2=90");
    return { version: expandVersion(name, version, ids), percent: Number(percent) };
  });
}

async function resolveVersion(session: Session, name: string, version: string): Promise<string> {
  const { versions } = await session.region.get<EndpointView>(endpointPath(name));
  return expandVersion(
    name,
    version,
    versions.map(({ id }) => id),
  );
}

/** The one version that is, or whose hash starts with, what was typed. */
function expandVersion(name: string, typed: string, ids: readonly string[]): string {
  if (ids.includes(typed)) return typed;
  const matches = typed === "" ? [] : ids.filter((id) => id.startsWith(typed) || id.startsWith(`${name}-${typed}`));
  const [only] = matches;
  if (only !== undefined && matches.length === 1) return only;
  const what = matches.length === 0 ? "names no version" : "names more than one version";
  throw usageError(`${typed} ${what} of ${name}`, `Versions: ${ids.join(", ") || "none yet"}.`);
}
