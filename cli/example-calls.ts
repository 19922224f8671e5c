import type { Door } from "../runtime/domain/version.ts";

/** A line to copy that calls the endpoint through its preferred door. */
export function exampleCalls(url: string, name: string, doors: readonly Door[]): string[] {
  const [path, body] =
    doors[0] === "openai"
      ? [
          "/v1/chat/completions",
          { model: name, messages: [{ role: "user", content: "What is the capital of France?" }] },
        ]
      : [
          `/serving-endpoints/${name}/invocations`,
          name === "iris" ? { inputs: [[5.1, 3.5, 1.4, 0.2]] } : { inputs: [] },
        ];
  return [`  curl -s ${url}${path} -H 'content-type: application/json' \\`, `    -d '${JSON.stringify(body)}'`];
}
