import type { Engine, EngineContext, Route, ServingAnswer, ServingRequest } from "../contract.ts";
import { Batcher } from "./batcher.ts";
import { INFER } from "./classes.ts";
import { findModelFile, readInputExample } from "./files.ts";
import { kserveAnswer, kserveError, kserveMetadata, parseKserveRequest } from "./kserve-door.ts";
import { mlflowAnswer, mlflowError, parseMlflowRequest } from "./mlflow-door.ts";
import { loadOnnxModel, type OnnxModel } from "./model.ts";
import { probesOf } from "./probes.ts";
import { InputError } from "./tensor.ts";

const V2_MODEL_PATH = /^\/v2\/models\/([^/]+)(?:\/versions\/[^/]+)?(\/infer|\/ready)?$/;

/** Loads an ONNX model: MLflow's and KServe v2's doors, dynamic batching. Errors: UserError where it can't be loaded. */
export async function startOnnx({ launch, counters }: EngineContext): Promise<Engine> {
  const { artifact, run } = launch.version;
  const file = await findModelFile(artifact.path);
  const model = await loadOnnxModel(file, run.cpuCount);
  const example = await readInputExample(file);
  return new OnnxEngine(model, new Batcher(model, counters), example);
}

class OnnxEngine implements Engine {
  readonly probes: Engine["probes"];
  readonly maxInFlight = null;
  readonly #model: OnnxModel;
  readonly #batcher: Batcher;
  readonly #columns: readonly string[] | null;
  readonly #scoring: Route;
  readonly #ping: Route;

  constructor(model: OnnxModel, batcher: Batcher, example: Awaited<ReturnType<typeof readInputExample>>) {
    this.#model = model;
    this.#batcher = batcher;
    this.#columns = example?.columns ?? null;
    this.probes = probesOf(INFER, model.inputs, example?.body ?? null);
    this.#scoring = { requestClass: INFER, handle: (request) => this.#score(request) };
    this.#ping = metadata(() => ({ status: 200, headers: { "content-type": "application/json" }, body: "{}" }));
  }

  route(method: string, path: string): Route | null {
    if (method === "POST" && path === "/invocations") return this.#scoring;
    if (path === "/ping" || path === "/health" || path === "/v2/health/live" || path === "/v2/health/ready") {
      return this.#ping;
    }
    const match = V2_MODEL_PATH.exec(path);
    if (match === null) return null;
    const [, name, action] = match;
    const modelName = decodeURIComponent(name!);
    if (action === "/infer") {
      return method === "POST"
        ? { requestClass: INFER, handle: (request) => this.#infer(modelName, request) }
        : metadata(() => kserveError(405, "infer takes POST"));
    }
    if (action === "/ready") return this.#ping;
    return metadata(() => kserveMetadata(modelName, this.#model.inputs, this.#model.outputs));
  }

  refreshGauges(): void {
    // Batches are counted as they run; there is nothing else to sample.
  }

  close(): Promise<void> {
    return this.#model.close();
  }

  async #score(request: ServingRequest): Promise<ServingAnswer> {
    const type = request.header("content-type");
    if (type !== null && !/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) {
      return mlflowError(415, "BAD_REQUEST", `content-type must be application/json, got ${type}`);
    }
    try {
      const feeds = parseMlflowRequest(request.body, this.#model.inputs, this.#columns);
      return mlflowAnswer(this.#model.outputs, await this.#batcher.run(feeds));
    } catch (error) {
      if (error instanceof InputError) return mlflowError(400, "BAD_REQUEST", error.message);
      throw error;
    }
  }

  async #infer(modelName: string, request: ServingRequest): Promise<ServingAnswer> {
    try {
      const parsed = parseKserveRequest(request, this.#model);
      return kserveAnswer(modelName, parsed, this.#model.outputs, await this.#batcher.run(parsed.feeds));
    } catch (error) {
      if (error instanceof InputError) return kserveError(400, error.message);
      throw error;
    }
  }
}

function metadata(answer: () => ServingAnswer): Route {
  return { requestClass: null, handle: answer };
}
