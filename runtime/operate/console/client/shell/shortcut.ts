/** What a key does. `next` and `previous` move through the rows of a page. */
export type Shortcut = "search" | "next" | "previous" | "back" | "help" | "theme" | `page-${1 | 2 | 3 | 4}`;

/** The keys as the help shows them. */
export const SHORTCUT_HELP: readonly { readonly keys: readonly string[]; readonly does: string }[] = [
  { keys: ["/"], does: "search or filter" },
  { keys: ["j", "↓"], does: "next row" },
  { keys: ["k", "↑"], does: "previous row" },
  { keys: ["Enter"], does: "open the row" },
  { keys: ["Esc"], does: "close, clear, or go back" },
  { keys: ["1", "2", "3", "4"], does: "endpoints, decisions, logs, region" },
  { keys: ["t"], does: "light or dark" },
  { keys: ["?"], does: "this help" },
];

/** The part of a keyboard event that decides. */
export interface Pressed {
  readonly key: string;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

const KEYS: Readonly<Record<string, Shortcut>> = {
  "/": "search",
  j: "next",
  k: "previous",
  ArrowDown: "next",
  ArrowUp: "previous",
  Escape: "back",
  "?": "help",
  t: "theme",
  1: "page-1",
  2: "page-2",
  3: "page-3",
  4: "page-4",
};

/**
 * The shortcut of a key press, or null. While somebody types only Escape is one; the browser's own combinations are
 * left alone.
 */
export function shortcutOf(pressed: Pressed, isTyping: boolean): Shortcut | null {
  if (pressed.altKey || pressed.ctrlKey || pressed.metaKey) return null;
  const shortcut = Object.hasOwn(KEYS, pressed.key) ? (KEYS[pressed.key] ?? null) : null;
  return isTyping && shortcut !== "back" ? null : shortcut;
}

/** The row to go to from row `current` (-1 = none) of `count`, staying at the ends; -1 when there are none. */
export function rowAfter(current: number, count: number, move: "next" | "previous"): number {
  if (count === 0) return -1;
  if (current < 0) return move === "next" ? 0 : count - 1;
  return Math.min(count - 1, Math.max(0, current + (move === "next" ? 1 : -1)));
}
