/**
 * Row groups of a file that `../writer` wrote, as columns in one buffer. README.md says which files
 * those are.
 */

import { type FileMetaData, parquetMetadata, type SchemaElement } from "hyparquet";
import { present } from "../../base/assert.ts";
import type { ColumnBatch } from "../../columns/batch.ts";
import type { StreamRows } from "../../columns/ipc_stream.ts";
import { isOfFilesAlone } from "../../schema/row_words.ts";
import type { Column } from "../../schema/schema.ts";
import { RAW_PARSERS } from "../raw_parsers.ts";
import { CREATED_BY } from "../writer/format.ts";
import { Arena } from "./arena.ts";
import { type ArenaSpan, type ColumnPlace, readChunk } from "./column_chunk.ts";
import { columnTypeOf } from "./column_type.ts";
import { NotOurs } from "./page_header.ts";

/** Rows as places in a buffer, which can be handed to another thread. */
export interface PlacedRows {
  readonly columns: readonly Column[];
  readonly groups: readonly {
    readonly rows: number;
    readonly columns: readonly ColumnPlace[];
  }[];
  readonly buffer: ArrayBuffer;
}

const CODECS: ReadonlySet<string> = new Set(["UNCOMPRESSED", "ZSTD"]);

/**
 * Row groups by their positions in `file`; in `spare`, which nobody may use any more, if there is
 * room. Undefined for a file that was not written by `../writer`, or by a later version of it.
 * Throws what is wrong with one that is damaged.
 */
export function readOwnFile(
  file: Uint8Array,
  rowGroups: readonly number[],
  spare?: ArrayBuffer,
): PlacedRows | undefined {
  try {
    const metadata = parquetMetadata(file as Uint8Array<ArrayBuffer>, {
      parsers: RAW_PARSERS,
      geoparquet: false,
    });
    if (metadata.created_by !== CREATED_BY) return undefined;
    // Others come behind those of the table.
    const columns = metadata.schema.slice(1).map(columnOf).filter((column) =>
      !isOfFilesAlone(column)
    );
    const arena = new Arena(spare);
    const groups = rowGroups.map((group) => groupOf(metadata, group, { columns, file, arena }));
    return { columns, groups, buffer: arena.buffer };
  } catch (error) {
    if (error instanceof NotOurs) return undefined;
    throw error;
  }
}

/** The rows, as views of their buffer. */
export function batchesOf({ columns, groups, buffer }: PlacedRows): StreamRows {
  const schema = { columns, tags: [] };
  const bytes = ({ start, byteLength }: ArenaSpan) => new Uint8Array(buffer, start, byteLength);
  const batches = groups.map(({ rows, columns }): ColumnBatch => ({
    schema,
    rows,
    columns: columns.map(({ nullCount, validity, offsets, values }) => ({
      nullCount,
      validity: validity === undefined ? null : bytes(validity),
      offsets: offsets === undefined
        ? null
        : new Int32Array(buffer, offsets.start, offsets.byteLength / 4),
      values: bytes(values),
    })),
  }));
  return { columns, batches };
}

function groupOf(
  metadata: FileMetaData,
  position: number,
  { columns, file, arena }: {
    readonly columns: readonly Column[];
    readonly file: Uint8Array;
    readonly arena: Arena;
  },
): PlacedRows["groups"][number] {
  const group = present(metadata.row_groups[position], `row group ${position}`);
  const rows = Number(group.num_rows);
  const places = columns.map((column, at) => {
    const chunk = present(group.columns[at]?.meta_data, `chunk ${at}`);
    if (!CODECS.has(chunk.codec)) throw new NotOurs(`codec ${chunk.codec}`);
    const nulls = chunk.statistics?.null_count;
    if (nulls === undefined) throw new NotOurs("no number of nulls");
    return readChunk(column, {
      offset: Number(chunk.dictionary_page_offset ?? chunk.data_page_offset),
      byteLength: Number(chunk.total_compressed_size),
      isPacked: chunk.codec === "ZSTD",
      nulls: Number(nulls),
    }, { file, rows, arena });
  });
  return { rows, columns: places };
}

function columnOf(element: SchemaElement): Column {
  const { field_id: id, name, repetition_type: repetition, num_children: children } = element;
  if (id === undefined || children !== undefined || repetition === "REPEATED") {
    throw new NotOurs(`column ${name}`);
  }
  const type = columnTypeOf(element);
  if (type === undefined) throw new NotOurs(`column ${name} of type ${element.type}`);
  return { id, name, type, required: repetition === "REQUIRED" };
}
