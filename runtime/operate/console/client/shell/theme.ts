import { useEffect, useState } from "preact/hooks";

/** Light or dark, as it is shown. */
export type Theme = "light" | "dark";

const ITEM = "penstock-theme";
const darkScheme = matchMedia("(prefers-color-scheme: dark)");

/** The theme shown: the one chosen here, else the system's; `toggle` chooses the other one. */
export function useTheme(): { readonly theme: Theme; readonly toggle: () => void } {
  const [chosen, setChosen] = useState<Theme | null>(readChoice);
  const [system, setSystem] = useState<Theme>(systemTheme);
  const theme = chosen ?? system;
  useEffect(() => {
    const follow = () => setSystem(systemTheme());
    darkScheme.addEventListener("change", follow);
    return () => darkScheme.removeEventListener("change", follow);
  }, []);
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark";
    localStorage.setItem(ITEM, next);
    document.documentElement.dataset.theme = next;
    setChosen(next);
  };
  return { theme, toggle };
}

/** Shows the theme chosen at an earlier visit; called before anything is drawn. */
export function applyChosenTheme(): void {
  const chosen = readChoice();
  if (chosen !== null) document.documentElement.dataset.theme = chosen;
}

function systemTheme(): Theme {
  return darkScheme.matches ? "dark" : "light";
}

function readChoice(): Theme | null {
  const kept = localStorage.getItem(ITEM);
  return kept === "light" || kept === "dark" ? kept : null;
}
