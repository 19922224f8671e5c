import { timeText } from "../../../../core/format.ts";

/** Says that the picture below is old, why, and what still works. */
export function AwayBanner({ why, sinceMs }: { readonly why: string; readonly sinceMs: number }) {
  return (
    <div class="banner" role="alert">
      <strong>The controller is away</strong> since {timeText(sinceMs)} ({why}). Below is the last picture; trying again
      every few seconds. Routers go on serving without it; if it stays away, look at <code>penstock up</code>.
    </div>
  );
}
