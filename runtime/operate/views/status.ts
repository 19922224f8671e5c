import type { EndpointSpec } from "../../domain/endpoint.ts";
import type { Prepared } from "../../domain/rollout.ts";
import type { ReplicaView } from "./replica-view.ts";
import type { VersionView } from "./version-view.ts";

/**
 * One word for an endpoint, worst first where several apply.
 * failed: nothing serves and nothing will by itself. degraded: it serves, but something needs a look.
 * preparing: the artifact is fetched or its environment built. starting: the first version's replicas start.
 * rolling-out: traffic is about to move, or moving. waking: requests may wait while a first replica starts.
 * scaling: fewer replicas are ready than wanted. asleep: no replica; the first request starts one. ready: all is well.
 */
export type StatusWord =
  | "failed"
  | "degraded"
  | "preparing"
  | "starting"
  | "rolling-out"
  | "waking"
  | "scaling"
  | "asleep"
  | "ready";

/** The word, why it is that, and what to do (null where nothing is to be done). */
export interface EndpointStatus {
  readonly word: StatusWord;
  readonly reason: string;
  readonly todo: string | null;
}

/** The status of an endpoint from its spec, preparation, versions and replicas. */
export function statusOf(
  spec: Pick<EndpointSpec, "name" | "origin">,
  prepared: Pick<Prepared, "state"> | null,
  versions: readonly VersionView[],
  replicas: readonly ReplicaView[],
): EndpointStatus {
  const serving = versions.filter((version) => version.phase === "serving");
  return serving.length > 0
    ? servingStatus(prepared, serving, versions, replicas)
    : firstVersionStatus(spec, prepared, versions, replicas);
}

function firstVersionStatus(
  spec: Pick<EndpointSpec, "name" | "origin">,
  prepared: Pick<Prepared, "state"> | null,
  versions: readonly VersionView[],
  replicas: readonly ReplicaView[],
): EndpointStatus {
  const staging = versions.find((version) => version.phase === "staging");
  if (staging !== undefined) return say("starting", startProgress(staging, replicas));
  if (prepared?.state.kind === "failed") {
    return say("failed", prepared.state.why, `${prepared.state.todo} ${waysOn(spec)}`);
  }
  if (prepared === null || prepared.state.kind === "working") return say("preparing", preparation(prepared));
  const failed = versions.filter((version) => version.failure !== null).at(-1);
  if (failed !== undefined) {
    return say("failed", `${failed.id}: ${failed.failure?.why}`, `${CORRECT_IT} ${waysOn(spec)}`);
  }
  return say("starting", "the version is ready to be staged");
}

const CORRECT_IT = "Correct what its last lines say (`penstock describe` shows them).";

/** What can be done with an endpoint that is there and has never served. */
function waysOn({ name, origin }: Pick<EndpointSpec, "name" | "origin">): string {
  return origin === "file"
    ? "The endpoint stays and answers 503 until the region file is mended and the region started again."
    : `The endpoint stays and answers 503: deploy again, or remove it with \`penstock delete ${name}\`.`;
}

function servingStatus(
  prepared: Pick<Prepared, "state"> | null,
  serving: readonly VersionView[],
  versions: readonly VersionView[],
  replicas: readonly ReplicaView[],
): EndpointStatus {
  const trouble = troubleOf(serving, replicas);
  if (trouble !== null) return trouble;
  if (prepared?.state.kind === "failed") {
    return say("degraded", `the newest deploy failed: ${prepared.state.why}`, prepared.state.todo);
  }
  if (prepared?.state.kind === "working") return say("rolling-out", preparation(prepared));
  const newest = prepared?.state.kind === "ready" ? prepared.state.version.id : null;
  const givenUp = versions.find((version) => version.id === newest)?.failure ?? null;
  if (givenUp !== null) {
    const todo = `Traffic was left where it was. ${CORRECT_IT} Then deploy again.`;
    return say("degraded", `the newest deploy failed: ${newest}: ${givenUp.why}`, todo);
  }
  const staging = versions.find((version) => version.phase === "staging");
  if (staging !== undefined) return say("rolling-out", startProgress(staging, replicas));
  const ready = serving.reduce((sum, version) => sum + version.scale.ready, 0);
  const wanted = serving.reduce((sum, version) => sum + allowed(version), 0);
  if (ready === 0) {
    return wanted > 0
      ? say("waking", `0 of ${count(wanted, "replica")} ready`)
      : say("asleep", "no replica; the first request starts one");
  }
  if (ready < wanted) return say("scaling", `${ready} of ${count(wanted, "replica")} ready`);
  const split = serving.length > 1 ? `, traffic ${serving.map((one) => `${one.weight} %`).join(" / ")}` : "";
  return say("ready", `${count(ready, "replica")} ready${split}`);
}

/** Replicas of serving versions that are stuck or crash, or null. */
function troubleOf(serving: readonly VersionView[], replicas: readonly ReplicaView[]): EndpointStatus | null {
  const live = new Set(serving.map((version) => version.id));
  const bad = replicas.filter(
    ({ version, word }) => live.has(version) && (word === "crash-loop" || word === "waiting" || word === "stuck"),
  );
  const [first] = bad;
  if (first === undefined) return null;
  const ready = serving.reduce((sum, version) => sum + version.scale.ready, 0);
  const reason = `${count(bad.length, "replica")} not well (${first.id}: ${first.word}), ${ready} ready`;
  const allGivenUp = ready === 0 && bad.every((replica) => replica.word === "crash-loop");
  return say(allGivenUp ? "failed" : "degraded", reason, `See \`penstock logs --source ${first.id}\`.`);
}

/** Replicas the version wants and may have. */
function allowed({ scale }: VersionView): number {
  return Math.min(scale.wanted ?? 0, scale.granted ?? Number.POSITIVE_INFINITY);
}

function startProgress(staging: VersionView, replicas: readonly ReplicaView[]): string {
  const own = replicas.filter((replica) => replica.version === staging.id);
  const words = new Map<string, number>();
  for (const { word } of own) words.set(word, (words.get(word) ?? 0) + 1);
  const parts = [...words].map(([word, replicasOfWord]) => `${replicasOfWord} ${word}`);
  return `${staging.id}: ${parts.length > 0 ? `replicas ${parts.join(", ")}` : "no replica yet"}`;
}

function preparation(prepared: Pick<Prepared, "state"> | null): string {
  if (prepared?.state.kind !== "working") return "waiting to be prepared";
  const { doing, doneBytes, totalBytes } = prepared.state;
  return doneBytes !== null && totalBytes !== null && totalBytes > 0
    ? `${doing} (${Math.floor((100 * doneBytes) / totalBytes)} %)`
    : doing;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function say(word: StatusWord, reason: string, todo: string | null = null): EndpointStatus {
  return { word, reason, todo };
}
