import type { ReplicaView } from "../../../views/replica-view.ts";
import type { StatusWord } from "../../../views/status.ts";
import type { VersionView } from "../../../views/version-view.ts";

/** How a state looks: `busy` changes by itself soon, `idle` is at rest. */
type Tone = "good" | "busy" | "warn" | "bad" | "idle";

const TONES: Readonly<Record<StatusWord | ReplicaView["word"] | VersionView["phase"], Tone>> = {
  ready: "good",
  serving: "good",
  asleep: "idle",
  kept: "idle",
  preparing: "busy",
  starting: "busy",
  warming: "busy",
  staging: "busy",
  "rolling-out": "busy",
  waking: "busy",
  scaling: "busy",
  wanted: "busy",
  draining: "busy",
  stopping: "busy",
  waiting: "warn",
  degraded: "warn",
  stuck: "bad",
  "crash-loop": "bad",
  failed: "bad",
};

/** The word of a state with a mark whose shape and colour both tell its tone. */
export function StatusBadge({ word }: { readonly word: keyof typeof TONES }) {
  return (
    <span class={`status ${TONES[word]}`}>
      <span class="mark" aria-hidden="true" />
      {word}
    </span>
  );
}
