/** Bodies that are ready for the example models and for any chat model. */
export type Template = "iris" | "chat";

/** What a template posts, and where. */
export interface TemplateRequest {
  readonly path: string;
  readonly body: string;
}

/** The request of a template to an endpoint. */
export function templateRequest(
  template: Template,
  endpoint: string,
  options: { readonly stream: boolean; readonly maxTokens: number },
): TemplateRequest {
  if (template === "iris") {
    return { path: invocationsPath(endpoint), body: JSON.stringify({ inputs: [[5.1, 3.5, 1.4, 0.2]] }) };
  }
  const body = {
    model: endpoint,
    messages: [{ role: "user", content: "Name one animal whose number is {{n}}." }],
    max_tokens: options.maxTokens,
    temperature: 0,
    stream: options.stream,
  };
  return { path: "/v1/chat/completions", body: JSON.stringify(body) };
}

/** The MLflow door's path of an endpoint. */
export function invocationsPath(endpoint: string): string {
  return `/serving-endpoints/${endpoint}/invocations`;
}
