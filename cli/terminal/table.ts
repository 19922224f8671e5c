import { printable } from "../../runtime/core/terminal-text.ts";
import type { Paint } from "./style.ts";

/** A column of a table: its head, how a row fills it, and how the text is painted. */
export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  readonly align?: "left" | "right";
  readonly paint?: (row: Row) => Paint;
}

const GAP = "  ";

/**
 * Lines of an aligned table, heads first. The last column is cut with an ellipsis where a line would be wider than
 * `width` (null = never), so that lines do not wrap.
 */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: { readonly width: number | null; readonly headPaint?: Paint },
): string[] {
  const cells = rows.map((row) => columns.map((column) => printable(column.cell(row))));
  const widths = columns.map((column, index) =>
    Math.max(column.head.length, ...cells.map((line) => (line[index] ?? "").length)),
  );
  const fixed = widths.slice(0, -1).reduce((sum, one) => sum + one + GAP.length, 0);
  const lastWidth = options.width === null ? Number.POSITIVE_INFINITY : Math.max(8, options.width - fixed);
  const pad = (text: string, index: number): string => {
    const isLast = index === columns.length - 1;
    const width = widths[index] ?? 0;
    if (columns[index]?.align === "right") return text.padStart(width);
    return isLast ? cut(text, lastWidth) : text.padEnd(width);
  };
  const head = columns.map((column, index) => pad(column.head, index)).join(GAP);
  const lines = rows.map((row, line) =>
    columns
      .map((column, index) => {
        const text = pad(cells[line]?.[index] ?? "", index);
        return column.paint ? column.paint(row)(text) : text;
      })
      .join(GAP)
      .trimEnd(),
  );
  return [(options.headPaint ?? ((text) => text))(head.trimEnd()), ...lines];
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1).trimEnd()}…`;
}
