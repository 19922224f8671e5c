import type { EndpointView } from "../../../views/endpoint-view.ts";
import type { VersionView } from "../../../views/version-view.ts";

/** The endpoints whose name, status word or runtime holds every word of `text`. */
export function filterEndpoints(endpoints: readonly EndpointView[], text: string): readonly EndpointView[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return endpoints.filter((endpoint) => {
    const haystack = `${endpoint.name} ${endpoint.status.word} ${runtimesOf(endpoint).join(" ")}`;
    return words.every((word) => haystack.includes(word));
  });
}

/** Whether somebody should look at it: it failed or is degraded. */
export function isUnwell({ status }: Pick<EndpointView, "status">): boolean {
  return status.word === "failed" || status.word === "degraded";
}

const RANK_OF_WORD: Readonly<Partial<Record<EndpointView["status"]["word"], number>>> = { failed: 0, degraded: 1 };

/** The endpoints with those first that failed, then those that are degraded; within each in the order they came. */
export function worstFirst(endpoints: readonly EndpointView[]): readonly EndpointView[] {
  const rank = ({ status }: EndpointView): number => RANK_OF_WORD[status.word] ?? 2;
  return endpoints.toSorted((a, b) => rank(a) - rank(b));
}

/** The runtimes of an endpoint's versions, each once. */
export function runtimesOf({ versions, spec }: EndpointView): readonly string[] {
  const runtimes = [...new Set(versions.map((version) => version.runtime))];
  return runtimes.length > 0 ? runtimes : [spec.runtime];
}

/** Requests in flight that all ready replicas together should carry, or null before a target is known. */
export function capacityOf(versions: readonly Pick<VersionView, "targetConcurrency" | "scale">[]): number | null {
  const known = versions.flatMap(({ targetConcurrency, scale }) =>
    targetConcurrency === null ? [] : [targetConcurrency * scale.ready],
  );
  return known.length === 0 ? null : known.reduce((sum, capacity) => sum + capacity, 0);
}

/** The region's endpoints in one line of numbers. */
export interface Totals {
  readonly endpoints: number;
  readonly unwell: number;
  readonly qps: number;
  readonly inFlight: number;
  readonly ready: number;
  readonly wanted: number;
}

/** Sums over endpoints; `unwell` are those that failed or are degraded. */
export function totalsOf(endpoints: readonly EndpointView[]): Totals {
  const sum = (of: (endpoint: EndpointView) => number) => endpoints.reduce((total, one) => total + of(one), 0);
  return {
    endpoints: endpoints.length,
    unwell: endpoints.filter(isUnwell).length,
    qps: sum(({ load }) => load.qps),
    inFlight: sum(({ load }) => load.inFlight),
    ready: sum(({ scale }) => scale.ready),
    wanted: sum(({ scale }) => scale.wanted ?? 0),
  };
}
