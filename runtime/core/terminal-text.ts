/** Characters that command a terminal (C0, DEL, C1) or turn the direction of the text around them (bidi embeddings and isolates). */
const COMMANDS = "[\\p{Cc}\\u202a-\\u202e\\u2066-\\u2069]";
/** The colours of our own styles (cli/terminal/style.ts). */
const OWN_COLOUR = "\u001b\\[(?:0|1|2|31|32|33|36)m";
const ANY = new RegExp(COMMANDS, "gu");
const FOREIGN = new RegExp(`(${OWN_COLOUR})|(?![\\n\\t])${COMMANDS}`, "gu");

/** A piece of text on one line that commands no terminal, whoever wrote it: a blank for each character that would. */
export function printable(text: string): string {
  return text.replace(ANY, " ");
}

/** Whole lines on their way to a terminal: of all that could command it only our own colours are left. */
export function forTerminal(text: string): string {
  return text.replace(FOREIGN, (_, ownColour: string | undefined) => ownColour ?? " ");
}
