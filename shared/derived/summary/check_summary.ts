/** Whether a file's summary is whole: every blob of it is read and decoded. For repairs. */

import { isOperatingError, messageOf } from "../../base/errors.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { columnOf, type TableSchema } from "../../schema/schema.ts";
import type { BlobPlace } from "../puffin.ts";
import { readSidecar, type Sidecar, type SidecarSubject } from "../sidecar.ts";
import { isIndexed } from "../text/text_blobs.ts";
import { uncountedColumns } from "./build_summary.ts";
import {
  CUBE_COUNTS_BLOB,
  decodeCubeCounts,
  decodeGroupCounts,
  decodeMeasures,
  decodeSummary,
  GROUP_COUNTS_BLOB,
  MEASURES_BLOB,
  SUMMARY_BLOB,
} from "./summary_blobs.ts";
import { decodeValueCounts, TOP_VALUES_BLOB, VALUE_COUNTS_BLOB } from "./value_counts.ts";

/** What is counted by value, what by minute, or all of it. */
export type SummaryPart = "groups" | "times" | "all";

/** All types of a summary's blobs. */
export const SUMMARY_PARTS: ReadonlySet<string> = new Set([
  SUMMARY_BLOB,
  GROUP_COUNTS_BLOB,
  CUBE_COUNTS_BLOB,
  MEASURES_BLOB,
  VALUE_COUNTS_BLOB,
  TOP_VALUES_BLOB,
]);

/** What is wrong, for people; or the sidecar, when nothing is. */
export type CheckedSummary = { readonly damage: string } | { readonly sidecar: Sidecar };

/**
 * Reads the whole summary of a file. `columns`: those that should be counted by value, where the
 * file has them. Errors: the store's, but `not_found`.
 */
export async function checkSummary(
  store: ReadableStore,
  { key, rows }: SidecarSubject,
  { part, schema, columns = [] }: {
    readonly part: SummaryPart;
    /** The table's. */
    readonly schema: TableSchema;
    readonly columns?: readonly number[];
  },
): Promise<CheckedSummary> {
  try {
    const sidecar = await readSidecar(store, { key, rows });
    if (sidecar === undefined) return { damage: "it has none" };
    const places = sidecar.blobs.filter(({ type }) => SUMMARY_PARTS.has(type));
    const own = places.find(({ type }) => type === SUMMARY_BLOB);
    if (own === undefined) return { damage: "it has no summary" };
    const timeId = columnOf(schema, "timestamp").id;
    const wanted = places.filter((place) => isOf(part, place, timeId));
    // A builder's blobs stand one behind the other: they are read at once.
    const start = Math.min(...wanted.map(({ offset }) => offset));
    const end = Math.max(...wanted.map(({ offset, length }) => offset + length));
    const bytes = await store.getRange(sidecar.key, start, end - start);
    for (const { type, offset, length } of wanted) {
      decoded(type, bytes.subarray(offset - start, offset - start + length), rows);
    }
    const counted = new Set(
      places.filter(({ type }) => type === GROUP_COUNTS_BLOB).flatMap(({ fields }) => fields),
    );
    const lacking = columns.filter((id) => own.fields.includes(id) && !counted.has(id));
    // Where there are no indexes yet, their making counts these, too.
    const spilled = part !== "times" && isIndexed(sidecar.blobs)
      ? uncountedColumns({ schema, rows }, places).map(({ id }) => id)
      : [];
    const all = new Set([...lacking, ...spilled]);
    return all.size === 0
      ? { sidecar }
      : { damage: `columns ${[...all].join(", ")} are not counted` };
  } catch (error) {
    if (isOperatingError(error, "corrupt") || isOperatingError(error, "not_found")) {
      return { damage: messageOf(error) };
    }
    throw error;
  }
}

/** Counts by minute name values by their place in the counts by value: those are of both parts. */
function isOf(part: SummaryPart, { type, fields }: BlobPlace, timeId: number): boolean {
  if (part === "all" || type === SUMMARY_BLOB || type === GROUP_COUNTS_BLOB) return true;
  const isTimed = fields[0] === timeId && (type === CUBE_COUNTS_BLOB || fields.length > 1);
  return isTimed === (part === "times");
}

function decoded(type: string, blob: Uint8Array, rows: number): unknown {
  if (type === SUMMARY_BLOB) return decodeSummary(blob);
  if (type === GROUP_COUNTS_BLOB) return decodeGroupCounts(blob, rows);
  if (type === CUBE_COUNTS_BLOB) return decodeCubeCounts(blob, rows);
  if (type === VALUE_COUNTS_BLOB || type === TOP_VALUES_BLOB) return decodeValueCounts(blob);
  return decodeMeasures(blob);
}
