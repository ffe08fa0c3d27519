/** What a table's metadata tells of its life, as the query server's Iceberg catalog has it. */

import type { Stack } from "../../apps/stack.ts";

export interface TableLife {
  /** Commits so far. */
  readonly commits: number;
  /** Snapshots that are there. */
  readonly snapshots: number;
}

/** Errors: an `Error` with the server's answer. */
export async function tableLife({ queryUrl }: Stack, table: string): Promise<TableLife> {
  const response = await fetch(`${queryUrl}/iceberg/v1/namespaces/svc/tables/${table}`);
  const answer = await response.text();
  if (!response.ok) throw new Error(`no metadata of ${table}: ${response.status} ${answer}`);
  const { metadata } = JSON.parse(answer);
  return { commits: metadata["last-sequence-number"], snapshots: metadata.snapshots.length };
}
