/** How many rows files, frames or batches have together. */
export function totalRows(parts: readonly { readonly rows: number }[]): number {
  return parts.reduce((sum, { rows }) => sum + rows, 0);
}
