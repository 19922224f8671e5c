import { foldRepeats, timesText } from "../../../logs/fold-repeats.ts";
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

/** The last lines of what failed as a block, oldest first; what came again and again stands there once, with how often. */
export function LogBlock({ lines }: { readonly lines: readonly string[] }) {
  return (
    <pre class="lines">
      {foldRepeats(lines).map((block, at) => (
        <div key={at} class={block.times > 1 ? "repeated" : ""}>
          {block.lines.map((line, index) => (
            <div key={index}>
              <LogText line={line} />
            </div>
          ))}
          {block.times > 1 && <div class="faint">{timesText(block)}</div>}
        </div>
      ))}
    </pre>
  );
}
