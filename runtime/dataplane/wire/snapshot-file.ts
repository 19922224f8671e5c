import { readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import type { Snapshot } from "../../domain/snapshot.ts";

/** The snapshot kept in a file, or null where there is none that can be read; `onBad` is told why. */
export function readSnapshot(path: string, onBad: (why: string) => void): Snapshot | null {
  try {
    const value = JSON.parse(readFileSync(path, "utf8")) as Partial<Snapshot>;
    const isWhole =
      value.endpoints?.every(({ name, split, timeouts, queue }) => isText(name) && split && timeouts && queue) &&
      value.versions?.every(({ id, replicas }) => isText(id) && replicas.every((replica) => isText(replica.id))) &&
      value.keys?.every(({ hash }) => isText(hash)) &&
      typeof value.keysRequired === "boolean" &&
      typeof value.generation?.incarnation === "number";
    if (isWhole) return value as Snapshot;
    onBad("it is not a snapshot");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") onBad(String(error));
  }
  return null;
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
        await this.#write(JSON.stringify(snapshot));
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
