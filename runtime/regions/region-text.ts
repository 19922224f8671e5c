import type { Reach } from "../operate/views/curl-line.ts";

/** What `penstock up` prints once the region answers. */
export function regionBanner(region: Reach & { readonly name: string; readonly dataDir: string }): string {
  const rows = [
    ["console", `${region.baseUrl}/console`],
    ["API", `${region.baseUrl}/docs`],
    ["metrics", `${region.baseUrl}/metrics`],
    ["data", region.dataDir],
    ["CLI", `penstock get --url ${region.baseUrl}`],
  ];
  const keys = region.keysRequired ? "Keys are required: put one in PENSTOCK_KEY for the lines below.\n" : "";
  return `Region ${region.name} serves at ${region.baseUrl}\n${rows.map(([name = "", at]) => `  ${name.padEnd(8)} ${at}`).join("\n")}\n${keys}`;
}

/** A bar of 24 cells with percent and bytes, such as `[######------------------]  25 %  23.5 of 93.8 MiB`. */
export function progressBar(doneBytes: number, totalBytes: number): string {
  const CELLS = 24;
  const ratio = totalBytes > 0 ? Math.min(1, doneBytes / totalBytes) : 0;
  const full = Math.floor(ratio * CELLS);
  const percent = String(Math.floor(ratio * 100)).padStart(3);
  return `[${"#".repeat(full)}${"-".repeat(CELLS - full)}] ${percent} %  ${mebibytes(doneBytes)} of ${mebibytes(totalBytes)} MiB`;
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(1);
}
