import { html } from "hono/html";
import type { Bundle } from "./bundle.ts";

/** The page that loads the console; everything else it shows it asks the API for. */
export function consolePage({ script, style }: Extract<Bundle, { kind: "built" }>) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Penstock</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console/${style.name}">
<script type="module" src="/console/${script.name}"></script>
</head>
<body>
<noscript>The console needs JavaScript. Without it: <code>penstock get</code>, or <a href="/docs">the API</a>.</noscript>
</body>
</html>`;
}

/** The page shown when the console can't be built: what is wrong with which line, and what still works. */
export function brokenPage({ messages }: Extract<Bundle, { kind: "broken" }>) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>Penstock: the console can't be built</title>
</head>
<body>
<h1>The console can't be built</h1>
<p>The region serves all the same; <code>penstock get</code> and <a href="/docs">the API</a> work. Correct what
stands below and reload, or run <code>npm ci</code> if a package is missing.</p>
<pre>${messages.join("\n")}</pre>
</body>
</html>`;
}
