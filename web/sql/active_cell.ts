/** The cell of a result that keys move from. */

export interface Cell {
  readonly row: number;
  readonly column: number;
}

const PAGE_ROWS = 20;

/** Returns the cell that a key leads to; undefined for any other key. */
export function cellAfterKey(
  key: string,
  active: Cell | undefined,
  { rows, columns }: { readonly rows: number; readonly columns: number },
): Cell | undefined {
  const step = STEPS[key];
  if (step === undefined || rows === 0 || columns === 0) return undefined;
  if (active === undefined) return { row: 0, column: 0 };
  const next = step(active);
  return { row: within(next.row, rows), column: within(next.column, columns) };
}

function within(at: number, length: number): number {
  return Math.max(0, Math.min(length - 1, at));
}

const STEPS: Readonly<Record<string, (cell: Cell) => Cell>> = {
  ArrowUp: ({ row, column }) => ({ row: row - 1, column }),
  ArrowDown: ({ row, column }) => ({ row: row + 1, column }),
  ArrowLeft: ({ row, column }) => ({ row, column: column - 1 }),
  ArrowRight: ({ row, column }) => ({ row, column: column + 1 }),
  PageUp: ({ row, column }) => ({ row: row - PAGE_ROWS, column }),
  PageDown: ({ row, column }) => ({ row: row + PAGE_ROWS, column }),
  Home: ({ row }) => ({ row, column: 0 }),
  End: ({ row }) => ({ row, column: Infinity }),
};
