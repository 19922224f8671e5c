import type { BoardView } from "../../domain/board.ts";
import { type EndpointSpec, modelKeyOf } from "../../domain/endpoint.ts";
import type { VersionId } from "../../domain/names.ts";
import type { Address, ReplicaPhase } from "../../domain/replica.ts";
import type { RolledVersion } from "../../domain/rollout.ts";
import { isUnheard } from "../../domain/settle.ts";
import type { SnapshotEndpoint } from "../../domain/snapshot.ts";
import type { RuntimeKind } from "../../domain/version.ts";

/** What publisher reads of an endpoint; lists are sorted by id. */
export interface PublisherWorld {
  /** Null once its user deleted it. */
  readonly endpoint: EndpointFacts | null;
  readonly versions: readonly VersionRow[];
  /** A machine has told of all its replicas. */
  readonly hostKnown: boolean;
  /** Its running replicas whose keeper has not reported yet, and those of versions whose replica set is not decided yet. */
  readonly unheard: number;
}

/** One endpoint that a user wants. */
export interface EndpointFacts {
  readonly settings: Omit<SnapshotEndpoint, "split" | "doors" | "problem">;
  readonly runtime: RuntimeKind | "auto";
  /** Why no version can be made of what the spec names, with what to do; null where none failed. */
  readonly prepareProblem: string | null;
}

/** One version that stages, serves or drains, or failed. */
export interface VersionRow {
  readonly id: VersionId;
  readonly endpoint: string;
  readonly runtime: RuntimeKind;
  readonly phase: RolledVersion["phase"];
  readonly weight: number;
  readonly failure: string | null;
  readonly url: string | null;
  readonly maxInFlight: number | null;
  readonly targetConcurrency: number | null;
  readonly replicas: readonly ReplicaRow[];
}

/** One replica of a version's set, with what its keeper says. */
export interface ReplicaRow {
  readonly id: string;
  readonly draining: boolean;
  readonly epoch: number;
  readonly phase: ReplicaPhase;
  readonly address: Address | null;
}

/** Reads one endpoint's world off the Board. */
export function observePublisher(board: BoardView, endpoint: string): PublisherWorld {
  const spec = board.get("spec", endpoint);
  const rollout = board.get("rollout", endpoint);
  const rolled = rollout.kind === "known" ? rollout.value.versions : [];
  return {
    endpoint: spec.kind === "known" ? observeEndpoint(board, spec.value) : null,
    versions: rolled
      .filter(({ phase }) => phase !== "kept")
      .map((version) => observeVersion(board, version))
      .sort((a, b) => (a.id < b.id ? -1 : 1)),
    hostKnown: board.keys("machine").length > 0,
    unheard: rolled.reduce((count, { version }) => count + countUnheard(board, version.id), 0),
  };
}

function observeEndpoint(board: BoardView, spec: EndpointSpec): EndpointFacts {
  const { name, idempotent, timeouts, queue, maxBodyBytes, traceSampleRatio } = spec;
  const prepared = board.get("prepared", name);
  const failed =
    prepared.kind === "known" && prepared.value.modelKey === modelKeyOf(spec) && prepared.value.state.kind === "failed"
      ? prepared.value.state
      : null;
  return {
    settings: { name, idempotent, timeouts, queue, maxBodyBytes, traceSampleRatio },
    runtime: spec.runtime,
    prepareProblem: failed === null ? null : `${sentence(failed.why)} ${failed.todo}`,
  };
}

/** The text with a stop at its end, so that another sentence may follow. */
function sentence(text: string): string {
  return /[.!?:]$/.test(text) ? text : `${text}.`;
}

function observeVersion(board: BoardView, { version, phase, weight, failure }: RolledVersion): VersionRow {
  const wanted = board.get("wanted", version.id);
  const set = board.get("replicaSet", version.id);
  return {
    id: version.id,
    endpoint: version.endpoint,
    runtime: version.runtime,
    phase,
    weight,
    failure: failure?.why ?? null,
    url: version.run.url,
    maxInFlight: version.run.maxInFlight,
    targetConcurrency: wanted.kind === "known" ? wanted.value.targetConcurrency : null,
    replicas: (set.kind === "known" ? set.value.replicas : []).flatMap((slot) => observeReplica(board, slot)),
  };
}

/** A report of an older start, or of a process that is no more, says nothing about the replica now. */
function observeReplica(
  board: BoardView,
  { id, draining }: { readonly id: string; readonly draining: boolean },
): readonly ReplicaRow[] {
  const report = board.get("replica", id);
  const hosted = board.get("hosted", id);
  if (report.kind === "missing" || hosted.kind === "missing") return [];
  const { state, epoch: runs } = hosted.value;
  const { epoch, phase, address } = report.value;
  if (epoch < runs || state === "waiting" || state === "crash-loop") return [];
  return [{ id, draining: draining || phase === "draining" || state === "stopping", epoch, phase, address }];
}

function countUnheard(board: BoardView, version: VersionId): number {
  const isDecided = board.get("replicaSet", version).kind === "known";
  return board.replicasOf("hosted", version).filter((id) => {
    const hosted = board.get("hosted", id);
    const report = board.get("replica", id);
    if (hosted.kind === "missing") return false;
    return !isDecided || isUnheard(hosted.value, report.kind === "known" ? report.value : null);
  }).length;
}
