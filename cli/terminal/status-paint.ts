import type { StatusWord } from "../../runtime/operate/views/status.ts";
import type { Paint, Style } from "./style.ts";

/** The colour of a status word: green is well, yellow is under way or needs a look, red is failed. */
export function statusPaint(style: Style, word: StatusWord): Paint {
  switch (word) {
    case "ready":
      return style.good;
    case "asleep":
      return style.dim;
    case "failed":
      return style.bad;
    case "degraded":
    case "preparing":
    case "starting":
    case "rolling-out":
    case "waking":
    case "scaling":
      return style.warn;
  }
}
