const ITEM = "penstock-key";

/** The admin key given in this tab, or null. It lives in the session storage and ends with the tab. */
export function readKey(): string | null {
  return sessionStorage.getItem(ITEM);
}

/** Keeps an admin key for this tab. */
export function keepKey(key: string): void {
  sessionStorage.setItem(ITEM, key);
}
