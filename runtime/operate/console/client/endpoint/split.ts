import type { VersionView } from "../../../views/version-view.ts";

/** Percents by version as a person is typing them. */
export type SplitDraft = Readonly<Record<string, number>>;

/** The versions that may get traffic, and their present shares. */
export function draftOf(versions: readonly Pick<VersionView, "id" | "phase" | "weight">[]): SplitDraft {
  const able = versions.filter(({ phase }) => phase !== "failed");
  return Object.fromEntries(able.map(({ id, weight }) => [id, weight]));
}

/** What keeps a draft from being sent, in plain words, or null. */
export function problemOf(draft: SplitDraft): string | null {
  const percents = Object.values(draft);
  if (percents.some((percent) => !Number.isInteger(percent) || percent < 0 || percent > 100)) {
    return "Each share is a whole number from 0 to 100.";
  }
  const sum = percents.reduce((total, percent) => total + percent, 0);
  if (sum !== 100) return `The shares sum to ${sum} %; they must sum to 100 %.`;
  return percents.filter((percent) => percent > 0).length > 8 ? "At most 8 versions may share traffic." : null;
}

/** The body that asks for a split: versions without a share are left out. */
export function trafficOf(draft: SplitDraft) {
  const parts = Object.entries(draft).map(([version, percent]) => ({ version, percent }));
  return { kind: "split" as const, parts: parts.filter(({ percent }) => percent > 0) };
}

/** Whether a rollback has somewhere to go: a version that has served, beside the one that carries (or is about to carry) the traffic. */
export function hasPredecessor(versions: readonly Pick<VersionView, "phase">[]): boolean {
  const hasServed = versions.filter(({ phase }) => phase === "serving" || phase === "draining" || phase === "kept");
  const isStaging = versions.some(({ phase }) => phase === "staging");
  return hasServed.length > (isStaging ? 0 : 1);
}
