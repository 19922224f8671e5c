/** Said by a suite that is skipped for want of what test/tools.ts makes. */
export const HOW_TO_GET =
  "models or clients are not in the cache; get them with `node bin/bootstrap.mjs run test/tools.ts`";
