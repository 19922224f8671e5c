import { join } from "node:path";
import { type KeptFormat, readKept, writeKept } from "../../adapters/kept-file.ts";
import type { Epoch } from "../../domain/names.ts";
import type { Log } from "../../ports/log.ts";
import { bootId, groupExists, identifyProcess, type ProcessIdentity, signalGroup } from "./process-table.ts";

interface Contents {
  readonly epoch: Epoch;
  readonly children: readonly (ProcessIdentity & { readonly id: string })[];
}

const FORMAT: KeptFormat = "run/1";

/** What runs now and the last epoch given, on disk: the next agent ends what a killed one left behind, and epochs only grow. */
export class RunFile {
  readonly #path: string;
  readonly #children = new Map<string, ProcessIdentity>();
  #epoch: Epoch;
  /** Ids of the processes that an earlier agent had left behind. */
  readonly killed: readonly string[];

  /** Reads the file and kills the process groups of an earlier agent that are still there. */
  constructor(dataDir: string, log: Log) {
    this.#path = join(dataDir, "run.json");
    const onSetAside = (why: string): void => log.warn("RUN_FILE_SET_ASIDE", { why });
    const left = readKept<Contents>(this.#path, FORMAT, areContents, onSetAside);
    this.#epoch = left?.epoch ?? 0;
    const stillThere = (left?.children ?? []).filter(leftMembers);
    for (const child of stillThere) signalGroup(child.pid, "SIGKILL");
    this.killed = stillThere.map((child) => child.id);
  }

  /** An epoch larger than any before; on disk once the process that carries it is recorded. */
  nextEpoch(): Epoch {
    this.#epoch += 1;
    return this.#epoch;
  }

  started(id: string, pid: number): void {
    const identity = identifyProcess(pid);
    if (identity) this.#children.set(id, identity);
    this.#write();
  }

  ended(id: string): void {
    this.#children.delete(id);
    this.#write();
  }

  #write(): void {
    const children = [...this.#children].map(([id, identity]) => ({ id, ...identity }));
    try {
      writeKept(this.#path, FORMAT, { epoch: this.#epoch, children } satisfies Contents);
    } catch {
      // A full disk must not end what serves: children still die with this process by the kernel's hand.
    }
  }
}

/** The child or a member of its group lives: while a group has members, the kernel gives its number to no new process. */
function leftMembers(child: ProcessIdentity): boolean {
  const leader = identifyProcess(child.pid);
  if (leader) return child.started !== null && leader.started === child.started;
  return child.started?.startsWith(`${bootId()}/`) === true && groupExists(child.pid);
}

function areContents({ epoch, children }: Contents): boolean {
  return Number.isSafeInteger(epoch) && children.every(({ pid }) => Number.isSafeInteger(pid));
}
