import { html, raw } from "hono/html";

/** The part of an OpenAPI document that the page shows. */
interface ShownDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths?: Readonly<Record<string, object>> | undefined;
}

interface ShownOperation {
  readonly summary?: string;
  readonly parameters?: readonly { readonly name?: string; readonly description?: string; readonly in?: string }[];
  readonly responses?: Readonly<Record<string, { readonly description?: string }>>;
}

/** The API on one page without scripts: every path, what it takes and answers. Schemas stand in /openapi.json. */
export function docsPage({ info, paths = {} }: ShownDocument) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => showOperation(method, path, operation as ShownOperation)),
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid color-mix(in srgb, currentcolor 20%, transparent); padding: 0.75rem 0; }
h2 { font: 600 1rem ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0.25rem 0 0; }
dt { font-family: ui-monospace, monospace; } dd { margin: 0; } p { margin: 0.25rem 0; }
</style>
</head>
<body>
<h1>${info.title} ${info.version}</h1>
<p>Schemas of every body: <a href="/openapi.json">/openapi.json</a>. Errors are
<code>{"code", "message", "todo", "details": [{"path", "message"}]}</code>. Where keys are required send
<code>Authorization: Bearer KEY</code> with an admin key.</p>
${operations}
</body>
</html>`;
}

function showOperation(method: string, path: string, { summary, parameters = [], responses = {} }: ShownOperation) {
  const rows = [
    ...parameters.map(({ name, description, in: place }) => [name ?? "", description ?? `in the ${place}`] as const),
    ...Object.entries(responses)
      .filter(([status]) => status.startsWith("2"))
      .map(([status, response]) => [status, response.description ?? ""] as const),
  ];
  const list = rows.map(([term, text]) => html`<dt>${term}</dt><dd>${text}</dd>`);
  return html`<section><h2>${method.toUpperCase()} ${path}</h2><p>${summary ?? ""}</p><dl>${list}</dl></section>${raw("\n")}`;
}
