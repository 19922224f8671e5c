/** Colours a text, or leaves it as it is where colour is off. */
export type Paint = (text: string) => string;

/** The few styles that output uses; each says something besides the word it colours. */
export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly good: Paint;
  readonly warn: Paint;
  readonly bad: Paint;
  readonly accent: Paint;
}

const plain: Paint = (text) => text;
const sgr =
  (code: number): Paint =>
  (text) =>
    `\u001b[${code}m${text}\u001b[0m`;

/** Styles for a terminal, or none. */
export function styleFor(colour: boolean): Style {
  if (!colour) return { bold: plain, dim: plain, good: plain, warn: plain, bad: plain, accent: plain };
  return { bold: sgr(1), dim: sgr(2), good: sgr(32), warn: sgr(33), bad: sgr(31), accent: sgr(36) };
}

/** Whether to colour: NO_COLOR and TERM=dumb say no, FORCE_COLOR yes, else a terminal has colour. */
export function wantsColour(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== "0") return true;
  return isTerminal && env.TERM !== "dumb";
}
