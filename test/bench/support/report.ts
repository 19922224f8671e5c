import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** A line that is overwritten by the next one on a terminal; elsewhere nothing, so that logs stay short. */
export function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${line}`);
}

/** A step of a bench that takes a while begins. */
export function step(line: string): void {
  progress("");
  process.stderr.write(`${line}\n`);
}

/** The machine's load average over the last minute, with its cores: what else ran while a figure was taken. */
export function loadText(): string {
  const [minute] = readFileSync("/proc/loadavg", "utf8").split(" ");
  return `load average ${minute} on ${cpus().length} cores`;
}

/** Prints the figures as a table, the machine's load, and the line for programs. Numbers keep three decimals. */
export function report(bench: string, figures: Readonly<Record<string, number>>, notes: readonly string[] = []): void {
  progress("");
  const rounded = Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Number(value.toFixed(3))]));
  const width = Math.max(...Object.keys(rounded).map((name) => name.length));
  for (const [name, value] of Object.entries(rounded)) console.log(`${name.padEnd(width)}  ${value}`);
  for (const note of notes) console.log(note);
  console.log(loadText());
  console.log(JSON.stringify({ bench, figures: rounded }));
}
