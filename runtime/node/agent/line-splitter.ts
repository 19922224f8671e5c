import { StringDecoder } from "node:string_decoder";

/** Longest line that is kept whole; a longer one is cut into pieces of this size. */
const MAX_LINE_CHARS = 8_192;

/** Cuts a byte stream into lines without their ends. Bytes may come in any pieces; memory is bounded by one line. */
export class LineSplitter {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  /** Takes the next bytes and returns the lines completed by them. */
  push(chunk: Buffer): string[] {
    const pieces = (this.#rest + this.#decoder.write(chunk)).split("\n");
    this.#rest = pieces.pop() ?? "";
    const lines = pieces.flatMap((line) => cut(line.endsWith("\r") ? line.slice(0, -1) : line));
    while (this.#rest.length > MAX_LINE_CHARS) {
      lines.push(this.#rest.slice(0, MAX_LINE_CHARS));
      this.#rest = this.#rest.slice(MAX_LINE_CHARS);
    }
    return lines;
  }

  /** The line that no newline ended, if there is one. */
  end(): string[] {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = "";
    return rest === "" ? [] : [rest];
  }
}

function cut(line: string): string[] {
  if (line.length <= MAX_LINE_CHARS) return [line];
  const count = Math.ceil(line.length / MAX_LINE_CHARS);
  return Array.from({ length: count }, (_, index) => line.slice(index * MAX_LINE_CHARS, (index + 1) * MAX_LINE_CHARS));
}
