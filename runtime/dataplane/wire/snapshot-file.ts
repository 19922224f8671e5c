import { open, rename } from "node:fs/promises";
import { encodeKept, type KeptFormat, readKept } from "../../adapters/kept-file.ts";
import type { Snapshot } from "../../domain/snapshot.ts";

/** A change of what a Snapshot holds makes the next number. */
const FORMAT: KeptFormat = "snapshot/1";

/** The snapshot kept in a file, or null where there is none that can be read; `onSetAside` is told why. */
export function readSnapshot(path: string, onSetAside: (why: string) => void): Snapshot | null {
  return readKept<Snapshot>(path, FORMAT, isWhole, onSetAside);
}

function isWhole({ endpoints, versions, keys, keysRequired, generation }: Snapshot): boolean {
  return (
    endpoints.every(({ name, split, timeouts, queue }) => isText(name) && split && timeouts && queue) &&
    versions.every(({ id, replicas }) => isText(id) && replicas.every((replica) => isText(replica.id))) &&
    keys.every(({ hash }) => isText(hash)) &&
    typeof keysRequired === "boolean" &&
    typeof generation.incarnation === "number"
  );
}

const isText = (value: unknown): boolean => typeof value === "string";

/** Keeps the newest snapshot in a file: written beside and renamed, so that the file is whole at every instant. */
export class SnapshotKeeper {
  readonly #path: string;
  readonly #onError: (why: string) => void;
  #next: Snapshot | null = null;
  #writing: Promise<void> | null = null;

  constructor(path: string, onError: (why: string) => void) {
    this.#path = path;
    this.#onError = onError;
  }

  /** Takes a snapshot to be written; one that is overtaken before its turn is skipped. */
  keep(snapshot: Snapshot): void {
    this.#next = snapshot;
    this.#writing ??= this.#writeAll();
  }

  /** Resolves once what was taken is on disk (or has failed). */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#next !== null) {
      const snapshot = this.#next;
      this.#next = null;
      try {
        await this.#write(encodeKept(FORMAT, snapshot));
      } catch (error) {
        // A full disk must not end the traffic: the snapshot in memory goes on serving.
        this.#onError(String(error));
      }
    }
    this.#writing = null;
  }

  async #write(text: string): Promise<void> {
    const beside = `${this.#path}.new`;
    const file = await open(beside, "w", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, this.#path);
  }
}
