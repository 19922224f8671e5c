import { readLine } from "../../../logs/read-line.ts";

/** The text of one log line; a structured line's code stands out from its fields. */
export function LogText({ line }: { readonly line: string }) {
  const { level, code, text } = readLine(line);
  return (
    <span class={`text level-${level}`}>
      {code !== null && <b>{code} </b>}
      {text}
    </span>
  );
}

/** Log lines as a block, oldest first. */
export function LogBlock({ lines }: { readonly lines: readonly string[] }) {
  return (
    <pre class="lines">
      {lines.map((line, index) => (
        <div key={index}>
          <LogText line={line} />
        </div>
      ))}
    </pre>
  );
}
