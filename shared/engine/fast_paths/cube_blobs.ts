/** Writes cubes as the blobs of a summary, which `PartReader` reads. Roll-ups are made of them. */

import type { Cells } from "../../derived/summary/cells.ts";
import { IDS_MAX, partsOfKey } from "../../derived/summary/cells.ts";
import type { MeasuredCells } from "../../derived/summary/measured_cells.ts";
import {
  CUBE_COUNTS_BLOB,
  encodeCubeCounts,
  encodeGroupCounts,
  encodeMeasures,
  GROUP_COUNTS_BLOB,
  type GroupType,
  MEASURES_BLOB,
} from "../../derived/summary/summary_blobs.ts";
import type { Blob } from "../../derived/types.ts";
import type { Column } from "../../schema/schema.ts";
import type { CubePart, CubeSpec, TableValues } from "./file_part.ts";

/**
 * The cube that a blob of a summary is of. Undefined: it is of no cube, or of a column that the
 * table has no more.
 */
export function specOfBlob(
  { type, fields }: Pick<Blob, "type" | "fields">,
  { columns, timeId }: { readonly columns: readonly Column[]; readonly timeId: number },
): CubeSpec | undefined {
  const isMeasure = type === MEASURES_BLOB;
  if (!isMeasure && type !== GROUP_COUNTS_BLOB && type !== CUBE_COUNTS_BLOB) return undefined;
  const known = fields.map((id) => columns.find((column) => column.id === id));
  const all = known.filter((column) => column !== undefined);
  if (all.length < known.length) return undefined;
  const dims = isMeasure ? all.slice(0, -1) : all;
  return {
    timeId,
    minutes: dims.some(({ id }) => id === timeId),
    columns: dims.filter(({ id }) => id !== timeId).sort((a, b) => a.id - b.id),
    measures: isMeasure ? all.slice(-1) : [],
  };
}

/** The blob of a cube of `spec`. The ids of its columns are those of `values`. */
export function blobOfCube(
  { timeId, minutes, columns, measures: [measure] }: CubeSpec,
  part: CubePart,
  values: (column: Column) => TableValues,
): Blob | undefined {
  const fields = [...(minutes ? [timeId] : []), ...columns.map(({ id }) => id)];
  const [column] = columns;
  if (measure !== undefined) {
    const measured = part.measures.get(measure.id);
    return measured === undefined ? undefined : {
      type: MEASURES_BLOB,
      fields: [...fields, measure.id],
      data: encodeMeasures(measuresOf(measured, fields.length, minutes)),
    };
  }
  if (column !== undefined && fields.length === 1) {
    return {
      type: GROUP_COUNTS_BLOB,
      fields,
      data: groupCounts(column, part.cells, values(column)),
    };
  }
  const { a, b } = keysOf(part.cells.keys, fields.length, minutes);
  const { counts } = part.cells;
  const data = encodeCubeCounts({ dims: fields.length, a, b, counts });
  return { type: CUBE_COUNTS_BLOB, fields, data };
}

function groupCounts({ type }: Column, { keys, counts }: Cells, known: TableValues): Uint8Array {
  const byId = new Float64Array(known.values.length);
  keys.forEach((key, at) => byId[partsOfKey(key).b] = counts[at] as number);
  return encodeGroupCounts({ type: type as GroupType, values: known.values, counts: byId });
}

function measuresOf(measured: MeasuredCells, dims: number, minutes: boolean) {
  const { kind, units, cells } = measured;
  const sorted = [...cells].sort(([one], [other]) => one - other);
  const own = sorted.map(([, cell]) => cell);
  return {
    ...{ dims, kind },
    ...keysOf(sorted.map(([key]) => key), dims, minutes),
    values: Float64Array.from(own, ({ values }) => values),
    smallest: own.map(({ smallest }) => smallest),
    largest: own.map(({ largest }) => largest),
    sums: units === undefined ? undefined : {
      units,
      sums: own.map(({ sum }) => sum),
      absolutes: own.map(({ absolutes }) => absolutes),
    },
  };
}

/** A single dimension stands in `a`, though a column's ids are in the second part of a key. */
function keysOf(
  keys: ArrayLike<number>,
  dims: number,
  minutes: boolean,
): { readonly a: Float64Array; readonly b: Uint32Array } {
  const parts = Array.from(keys, partsOfKey);
  if (dims === 1 && !minutes) {
    return { a: Float64Array.from(parts, ({ b }) => b), b: new Uint32Array(parts.length) };
  }
  return {
    a: Float64Array.from(parts, ({ a }) => a),
    b: Uint32Array.from(parts, ({ b }) => b),
  };
}

/** Whether all ids of a column fit into the blobs of a roll-up. */
export function fitsRollup({ values }: TableValues): boolean {
  return values.length <= VALUES_MAX;
}

const VALUES_MAX = IDS_MAX / 16;
