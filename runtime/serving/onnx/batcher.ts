import type { ReplicaCounters } from "../replica-counters.ts";
import type { OnnxModel } from "./model.ts";
import type { TensorData, TensorValues } from "./tensor.ts";
import { zeroValues } from "./tensor.ts";

/** Most rows put into one run: past it CPU models gain nothing, and the last of a batch waits for all of it. */
const MAX_BATCH_ROWS = 256;

interface Waiting {
  readonly feeds: readonly TensorData[];
  readonly rows: number;
  readonly resolve: (outputs: TensorData[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs requests on a model, several in one run where the model takes any number of rows.
 * It never waits for company: a run takes what has come while the one before was in progress, so an idle model
 * answers at once and a busy one batches by itself.
 */
export class Batcher {
  readonly #model: OnnxModel;
  readonly #counters: ReplicaCounters;
  #waiting: Waiting[] = [];
  #running = false;
  #canBatch: boolean;

  constructor(model: OnnxModel, counters: ReplicaCounters) {
    this.#model = model;
    this.#counters = counters;
    this.#canBatch = model.canBatch;
  }

  /** The model's outputs for one request's inputs. */
  run(feeds: readonly TensorData[]): Promise<TensorData[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ feeds, rows: feeds[0]?.dims[0] ?? 1, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      // After this turn's sockets have been read, so that requests which came together run together.
      setImmediate(() => void this.#work());
    });
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const { group, rest } = this.#canBatch ? takeGroup(this.#waiting) : takeFirst(this.#waiting);
      this.#waiting = rest;
      await this.#runGroup(group);
    }
    this.#running = false;
  }

  async #runGroup(group: readonly Waiting[]): Promise<void> {
    const rows = group.reduce((sum, waiting) => sum + waiting.rows, 0);
    try {
      const outputs = await this.#model.run(group.length === 1 ? group[0]!.feeds : concatenate(group));
      this.#counters.count("batchesTotal", 1);
      this.#counters.count("batchRowsTotal", rows);
      if (group.length === 1) group[0]!.resolve(outputs);
      else if (outputs.every((output) => output.dims[0] === rows)) distribute(group, outputs);
      else {
        // The first axis is no batch after all: such a model is run one request at a time from here on.
        this.#canBatch = false;
        await this.#runEach(group);
      }
    } catch (error) {
      if (group.length === 1) group[0]!.reject(error);
      // One bad member must not fail the others.
      else await this.#runEach(group);
    }
  }

  async #runEach(group: readonly Waiting[]): Promise<void> {
    for (const waiting of group) await this.#runGroup([waiting]);
  }
}

function takeFirst(waiting: readonly Waiting[]): { group: Waiting[]; rest: Waiting[] } {
  return { group: waiting.slice(0, 1), rest: waiting.slice(1) };
}

/** The oldest request, and all others whose tensors have its shape past the first axis, up to MAX_BATCH_ROWS. */
function takeGroup(waiting: readonly Waiting[]): { group: Waiting[]; rest: Waiting[] } {
  const first = waiting[0]!;
  const group = [first];
  const rest: Waiting[] = [];
  let rows = first.rows;
  for (let index = 1; index < waiting.length; index++) {
    const candidate = waiting[index]!;
    if (rows + candidate.rows <= MAX_BATCH_ROWS && sameShape(first.feeds, candidate.feeds)) {
      group.push(candidate);
      rows += candidate.rows;
    } else rest.push(candidate);
  }
  return { group, rest };
}

function sameShape(a: readonly TensorData[], b: readonly TensorData[]): boolean {
  // Every input of one request must have as many rows as the others, or rows can't be told apart afterwards.
  return a.every((tensor, input) => {
    const other = b[input]!;
    return (
      tensor.dims.length === other.dims.length &&
      tensor.dims[0] === a[0]!.dims[0] &&
      other.dims[0] === b[0]!.dims[0] &&
      tensor.dims.every((size, axis) => axis === 0 || size === other.dims[axis])
    );
  });
}

function concatenate(group: readonly Waiting[]): TensorData[] {
  return group[0]!.feeds.map((first, input) => {
    const tensors = group.map((waiting) => waiting.feeds[input]!);
    const rows = tensors.reduce((sum, tensor) => sum + tensor.dims[0]!, 0);
    return { type: first.type, dims: [rows, ...first.dims.slice(1)], values: joinValues(first.type, tensors) };
  });
}

function joinValues(type: TensorData["type"], tensors: readonly TensorData[]): TensorValues {
  if (type === "string") return tensors.flatMap((tensor) => tensor.values as string[]);
  const length = tensors.reduce((sum, tensor) => sum + tensor.values.length, 0);
  const joined = zeroValues(type, length) as Float64Array;
  let at = 0;
  for (const tensor of tensors) {
    joined.set(tensor.values as Float64Array, at);
    at += tensor.values.length;
  }
  return joined;
}

function distribute(group: readonly Waiting[], outputs: readonly TensorData[]): void {
  let row = 0;
  for (const waiting of group) {
    const part = outputs.map((output) => {
      const perRow = output.values.length / output.dims[0]!;
      const range = [row * perRow, (row + waiting.rows) * perRow] as const;
      const values = Array.isArray(output.values)
        ? output.values.slice(...range)
        : (output.values.subarray(...range) as TensorValues);
      return { type: output.type, dims: [waiting.rows, ...output.dims.slice(1)], values };
    });
    row += waiting.rows;
    waiting.resolve(part);
  }
}
