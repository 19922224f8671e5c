/**
 * Is the replica stuck? A pure rule over what its keeper sees each second. A class is stuck only when two independent
 * signs agree for the whole of its deadline: its progress counter stood still, and a canary of that class got no answer.
 * So a saturated replica that still moves is never killed, and an idle one that hangs is still found.
 */

/** A canary is sent once nothing of its class has completed for this long and no work is present. */
const IDLE_CANARY_MS = 10_000;
/** The same while work is present: silence then says more. */
const BUSY_CANARY_MS = 5_000;
/** A class is looked after this long after its last request; the first class always is. */
const CLASS_MEMORY_MS = 600_000;
/** Shortest deadline: with the canary's wait it finds a hang in under 30 s, and a long garbage collection is no hang. */
const MIN_DEADLINE_MS = 10_000;
/** Shortest deadline of engines that count nothing: a server that waits on I/O, one request at a time, looks just as still. */
const MIN_UNCOUNTED_DEADLINE_MS = 60_000;
/** Longest deadline: recovery stays under its own 5 minutes for all but the slowest models. */
const MAX_DEADLINE_MS = 600_000;
/** Deadline in multiples of the longest silence that ended well. */
const DEADLINE_FACTOR = 10;
/** A replica that computes with all its might may be at one long answer: silence then weighs a tenth. */
const BUSY_CPU_FACTOR = 10;
/** Share of the CPU allotment in use that counts as computing. */
const BUSY_CPU_RATIO = 0.5;

/** One request class as the keeper sees it now. */
export interface JudgedClass {
  readonly requestClass: string;
  readonly inFlight: number;
  readonly startedTotal: number;
  readonly progressTotal: number;
  /** Longest silence with work present that ended with progress. */
  readonly progressGapMsMax: number;
  /** Unloaded service time from warm-up, or null. */
  readonly warmupServiceMs: number | null;
  /** When the canary that still waits for its answer was first sent, or null. */
  readonly canarySinceMs: number | null;
  readonly canaryAnsweredAtMs: number | null;
}

/** What the judge looks at. */
export interface JudgeWorld {
  readonly classes: readonly JudgedClass[];
  /** The engine counts its progress; false: only canaries speak. */
  readonly counted: boolean;
  /** CPU used over the last second as a share of the allotment. */
  readonly cpuRatio: number;
}

/** What the judge remembers of a class. */
interface ClassMemory {
  readonly startedTotal: number;
  readonly progressTotal: number;
  /** When the progress counter was last seen to move (or the judging began). */
  readonly movedAtMs: number;
  /** When a request of the class was last seen to start, or null. */
  readonly seenAtMs: number | null;
}

/** Memory of the judge by class name; starts empty. */
export type JudgeMemory = Readonly<Record<string, ClassMemory>>;

/** What the judge says: the class that is stuck, with its numbers, and the classes whose canary is due. */
export interface Judgement {
  readonly memory: JudgeMemory;
  readonly stuck: { readonly requestClass: string; readonly silentMs: number; readonly deadlineMs: number } | null;
  readonly canariesDue: readonly string[];
}

/** Decides from the world at `nowMs` (monotonic). Calling it more often changes nothing but precision. */
export function decideLiveness(world: JudgeWorld, memory: JudgeMemory, nowMs: number): Judgement {
  const next: Record<string, ClassMemory> = {};
  const canariesDue: string[] = [];
  let stuck: Judgement["stuck"] = null;
  for (const [index, judged] of world.classes.entries()) {
    const remembered = remember(judged, memory[judged.requestClass], nowMs);
    next[judged.requestClass] = remembered;
    const silentMs = nowMs - Math.max(remembered.movedAtMs, judged.canaryAnsweredAtMs ?? 0);
    const deadlineMs = computeDeadlineMs(judged, world);
    const waitedMs = judged.canarySinceMs === null ? 0 : nowMs - judged.canarySinceMs;
    if (stuck === null && waitedMs >= deadlineMs && silentMs >= deadlineMs) {
      stuck = { requestClass: judged.requestClass, silentMs, deadlineMs };
    }
    const watched = index === 0 || (remembered.seenAtMs !== null && nowMs - remembered.seenAtMs < CLASS_MEMORY_MS);
    const quietMs = judged.inFlight > 0 ? BUSY_CANARY_MS : IDLE_CANARY_MS;
    if (watched && judged.canarySinceMs === null && silentMs >= quietMs) canariesDue.push(judged.requestClass);
  }
  return { memory: next, stuck, canariesDue };
}

/** How long a class may be silent before it counts as stuck, in ms. */
export function computeDeadlineMs(judged: JudgedClass, world: Pick<JudgeWorld, "counted" | "cpuRatio">): number {
  const usualMs = Math.max(judged.progressGapMsMax, judged.warmupServiceMs ?? 0);
  const leastMs = world.counted ? MIN_DEADLINE_MS : MIN_UNCOUNTED_DEADLINE_MS;
  const busyFactor = world.cpuRatio >= BUSY_CPU_RATIO ? BUSY_CPU_FACTOR : 1;
  return Math.min(MAX_DEADLINE_MS, Math.max(leastMs, DEADLINE_FACTOR * usualMs) * busyFactor);
}

function remember(judged: JudgedClass, before: ClassMemory | undefined, nowMs: number): ClassMemory {
  const moved = before === undefined || judged.progressTotal !== before.progressTotal;
  const seen = before === undefined ? judged.startedTotal > 0 : judged.startedTotal !== before.startedTotal;
  return {
    startedTotal: judged.startedTotal,
    progressTotal: judged.progressTotal,
    movedAtMs: moved ? nowMs : before.movedAtMs,
    seenAtMs: seen || judged.inFlight > 0 ? nowMs : (before?.seenAtMs ?? null),
  };
}
