import type { ComponentChildren } from "preact";
import { Refused } from "../live/api-client.ts";
import { Prose } from "./prose.tsx";

/** What stands where there is nothing to show: why, and what to do. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** An error in the region's own words, with what to do. */
export function ErrorNotice({ error }: { readonly error: Error }) {
  const refusal = error instanceof Refused ? error : null;
  return (
    <div class="error" role="alert">
      <strong>{error.message}</strong>
      {refusal !== null && <Prose text={` ${refusal.todo}`} />}
      {refusal !== null && refusal.details.length > 0 && (
        <ul>
          {refusal.details.map(({ path, message }) => (
            <li key={path + message}>
              <code>{path}</code>: {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
