/**
 * Which WAL segments the snapshots of a table brought, by what their summaries say. The catalog
 * says the same, and is asked first, since it remembers for longer. But the metadata has checksums,
 * and a row of the catalog has none. So a segment that the catalog forgot is neither read nor
 * committed twice.
 */

import { segmentsOf } from "./snapshot_summary.ts";
import type { TableMetadata } from "./table_metadata.ts";

/** By metadata, which is read once for many statements. */
const KNOWN = new WeakMap<TableMetadata, ReadonlySet<string>>();

/** Names of the segments that snapshots of `metadata` added, as far as they are kept. */
export function committedSegments(metadata: TableMetadata): ReadonlySet<string> {
  const known = KNOWN.get(metadata);
  if (known !== undefined) return known;
  const named = new Set(metadata.snapshots.flatMap(({ summary }) => segmentsOf(summary)));
  KNOWN.set(metadata, named);
  return named;
}
