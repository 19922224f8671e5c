import { useState } from "preact/hooks";
import type { Refused } from "../live/api-client.ts";
import { useConsole } from "../live/console-context.ts";
import { keepKey, readKey } from "../live/key.ts";
import { Prose } from "../parts/prose.tsx";

/** Asks for an admin key, or says why the region does not answer this page at all. */
export function KeyGate({ refusal }: { readonly refusal: Refused }) {
  const { live } = useConsole();
  const [key, setKey] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    keepKey(key.trim());
    live.start();
  };
  if (!refusal.asksForKey) {
    return (
      <section class="gate" aria-labelledby="gate-title">
        <h1 id="gate-title">The region does not answer this page</h1>
        <p>{refusal.message}</p>
        <p>
          <Prose text={refusal.todo} />
        </p>
      </section>
    );
  }
  return (
    <section class="gate" aria-labelledby="gate-title">
      <h1 id="gate-title">This region asks for an admin key</h1>
      {readKey() !== null && <p class="bad-text">The key given was refused: {refusal.message}.</p>}
      <form onSubmit={submit}>
        <label>
          Admin key
          <input
            type="password"
            autocomplete="off"
            required
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={key.trim() === ""}>
          Open
        </button>
      </form>
      <p class="faint">
        It stays in this tab's session storage and goes with the tab. Make one with{" "}
        <code>penstock key create NAME --admin</code>.
      </p>
    </section>
  );
}
