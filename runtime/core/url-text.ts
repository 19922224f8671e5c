/** Scheme and the part that may hold `user:password@`, up to the last '@': a password may hold any character. */
const USER = /^([a-z][a-z0-9+.-]*:\/\/)[^\s]*@/i;

/** Whether a URL names a user or a password. */
export function hasUser(url: string): boolean {
  if (!URL.canParse(url)) return USER.test(url);
  const { username, password } = new URL(url);
  return username !== "" || password !== "";
}

/** A URL fit for logs and errors: without user, password, query and fragment, any of which may be a secret. Other text stays as it is. */
export function publicUrl(url: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url;
  const bare = url.replace(/[?#].*$/s, "");
  return hasUser(url) ? bare.replace(USER, "$1") : bare;
}
