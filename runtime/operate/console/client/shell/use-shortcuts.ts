import { useEffect } from "preact/hooks";
import { rowAfter, type Shortcut, shortcutOf } from "./shortcut.ts";
import { goTo } from "./use-route.ts";

/** Rows that the keyboard moves through carry this attribute on what takes the focus. */
export const ROW_ATTRIBUTE = "data-row";
/** What `/` focuses carries this attribute. */
export const SEARCH_ATTRIBUTE = "data-search";

const TYPED_IN = "input, textarea, select, [contenteditable]";

/** What the shell does on keys that are not about rows. */
export interface ShortcutActions {
  readonly help: () => void;
  readonly theme: () => void;
  readonly back: () => void;
}

/** Listens to the keyboard for the whole page; an open dialog keeps its keys to itself. */
export function useShortcuts(actions: ShortcutActions): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (document.querySelector("dialog[open]") !== null || event.defaultPrevented) return;
      const target = event.target instanceof HTMLElement ? event.target : null;
      const isTyping = target?.matches(TYPED_IN) ?? false;
      const shortcut = shortcutOf(event, isTyping);
      if (shortcut === null) return;
      if (shortcut === "back" && isTyping) target?.blur();
      else if (obey(shortcut, actions)) event.preventDefault();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  });
}

/** Does what the shortcut says; false where there was nothing to do. */
function obey(shortcut: Shortcut, actions: ShortcutActions): boolean {
  switch (shortcut) {
    case "next":
    case "previous":
      return moveRow(shortcut);
    case "search":
      document.querySelector<HTMLElement>(`[${SEARCH_ATTRIBUTE}]`)?.focus();
      return true;
    case "page-1":
      goTo({ page: "endpoints" });
      return true;
    case "page-2":
      goTo({ page: "decisions", controller: "", key: "", id: null });
      return true;
    case "page-3":
      goTo({ page: "logs", source: "" });
      return true;
    case "page-4":
      goTo({ page: "region" });
      return true;
    default:
      actions[shortcut]();
      return true;
  }
}

/** Moves the focus to the next or previous row; false where the page has none. */
function moveRow(move: "next" | "previous"): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>(`[${ROW_ATTRIBUTE}]`)];
  const current = rows.indexOf(document.activeElement as HTMLElement);
  const row = rows[rowAfter(current, rows.length, move)];
  row?.focus();
  row?.scrollIntoView({ block: "nearest" });
  return row !== undefined;
}
