/**
 * Writes the rows of WAL segments into data files of their table, to be committed by the caller.
 * Nothing refers to the files until then; when staging fails they are removed.
 */

import { type ErrorCode, isOperatingError } from "../base/errors.ts";
import { decodeBatch, decodeSchemaMessage } from "../columns/ipc.ts";
import { textColumnsOf } from "../derived/text_columns.ts";
import type { DocMapping } from "../schema/doc_mapping.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import { type LaneId, tableOf } from "../tenant/tenant.ts";
import { addColumns } from "../iceberg/add_columns.ts";
import { ensureTable } from "../iceberg/commit_append.ts";
import type { CommitDeps } from "../iceberg/commit_table.ts";
import type { NewDataFile, Table } from "../iceberg/types.ts";
import { damagedFrame } from "../wal/reader.ts";
import type { FrameDamage, FramesOptions, SegmentReader, WalReader } from "../wal/types.ts";
import {
  addAttributeColumns,
  planAttributeColumns,
  roomForAttributes,
} from "../tables/attribute_columns.ts";
import {
  DataFileWriter,
  type DataFileWriterDeps,
  INPUT_BYTES,
} from "../tables/data_file_writer.ts";
import { fitTo, schemaForNewTable } from "../tables/fit_schema.ts";
import { BatchJoiner, type RowsOfMessages } from "./batch_joiner.ts";
import type { DrainObserver } from "./drain_observer.ts";
import { sampleAttributes } from "./sample_attributes.ts";
import { targetSchema } from "./table_target.ts";

export interface StageDeps extends CommitDeps, DataFileWriterDeps {
  readonly wal: WalReader;
  /** Columns that a table may get for attributes of its rows; default 0: it gets none. */
  readonly attributeColumnsMax?: number;
  readonly observer?: Pick<DrainObserver, "columnsAdded">;
}

/**
 * From such a share of a file's bytes on it is as large as files get, and no merge writes it again.
 * Rows that are divided evenly make files of more than half, less what a request is over.
 */
const FULL_SHARE = 0.45;
/** What a file may have over, where its last rows are larger than those before. */
const OVER = 1.25;

/** Rows are joined to batches of such a share of a file's bytes. */
const JOINED_SHARE = 1 / 32;

/** Segments of one lane whose rows become rows of its table. */
export interface StageSource {
  readonly lane: LaneId;
  /** Oldest first. */
  readonly names: readonly string[];
  /** Bytes of their messages, at most. */
  readonly bytes: number;
  /**
   * The mapping of a table that somebody configured: it has the fields' columns, and those that the
   * segments bring. Undefined: nobody did.
   */
  readonly mapping: DocMapping | undefined;
  /** False: words are indexed by maintenance, not here. */
  readonly indexAtFlush: boolean;
  /**
   * Whether the intact frames of a damaged segment are taken. Otherwise, and where it has none, the
   * segment cannot be read.
   */
  readonly passesDamage: boolean;
}

export interface StagedFiles {
  readonly schema: TableSchema;
  readonly files: readonly NewDataFile[];
  /** What was passed over, by segment. */
  readonly damage: ReadonlyMap<string, readonly FrameDamage[]>;
  /** How many frames came from the mirror because they are damaged here, by segment. */
  readonly mended: ReadonlyMap<string, number>;
}

/** A segment whose rows cannot become rows of its table, whatever is tried again. */
export class UnreadableSegment extends Error {
  override readonly name = "UnreadableSegment";

  constructor(readonly segment: string, override readonly cause: unknown) {
    super(`WAL segment ${segment} cannot be read`, { cause });
  }
}

/**
 * Rows of the segments, in their order. `signal` is heeded between batches. Errors:
 * `UnreadableSegment`; `not_found` when a segment was swept meanwhile; those of the store, the
 * table and the signal.
 */
export async function stageSegments(
  deps: StageDeps,
  source: StageSource,
  signal: AbortSignal | undefined,
): Promise<StagedFiles> {
  let target: { readonly table: Table; readonly writer: DataFileWriter } | undefined;
  const fileBytes = deps.inputBytesMax ?? INPUT_BYTES;
  const damage = new Map<string, FrameDamage[]>();
  const mended = new Map<string, number>();
  const joiner = new BatchJoiner(JOINED_SHARE * fileBytes);
  let left = source.bytes;
  let taken = 0;
  const add = async ({ batch, messageBytes }: RowsOfMessages, writer: DataFileWriter) => {
    signal?.throwIfAborted();
    // Rows have more bytes than their messages where the table has more columns.
    const growth = taken === 0 ? 0 : writer.waitingBytes / taken;
    if (writer.waitingBytes >= evenShare(growth * left, fileBytes)) {
      left -= taken;
      taken = 0;
      await writer.cut();
    }
    await writer.add(batch);
    taken += messageBytes;
  };
  try {
    for (const name of source.names) {
      await using segment = await openSegment(deps, source.lane, name);
      const columns = readOrBlame(name, () => decodeSchemaMessage(segment.schemaMessage));
      target ??= await openTarget(deps, source, { columns, fileBytes });
      const { table, writer } = target;
      const fit = readOrBlame(name, () => fitTo(table.schema, columns));
      const passed: FrameDamage[] = [];
      const reading: FramesOptions = {
        ...(source.passesDamage ? { onDamage: (one) => void passed.push(one) } : {}),
        onMended: (frames) => mended.set(name, frames),
      };
      for await (const rows of joinedOf(batchesOf(segment, columns, reading), joiner)) {
        await add({ ...rows, batch: fit(rows.batch) }, writer);
      }
      if (passed.length > 0) damage.set(name, passed);
    }
    const schema = target?.table.schema ?? schemaForNewTable([]);
    return { schema, files: await target?.writer.finish() ?? [], damage, mended };
  } catch (error) {
    await target?.writer.discard();
    throw error;
  }
}

/**
 * The bytes of one file where `bytes` of rows become several of about the same size. So a large
 * commit leaves no small file over that a merge would have to take up. Infinity: one takes all.
 */
function evenShare(bytes: number, fileBytes: number): number {
  const files = Math.ceil(bytes / fileBytes);
  return files > 1 ? bytes / files : Infinity;
}

async function openTarget(
  deps: StageDeps,
  source: StageSource,
  { columns, fileBytes }: { readonly columns: readonly Column[]; readonly fileBytes: number },
): Promise<{ table: Table; writer: DataFileWriter }> {
  const ident = tableOf(source.lane);
  const opened = source.mapping === undefined
    ? await ensureTable(deps, { ident, schema: schemaForNewTable(columns) })
    : await mappedTable(deps, source, source.mapping);
  const table = await withAttributeColumns(deps, source, opened);
  const text = source.indexAtFlush ? textColumnsOf(table.schema, source.mapping) : undefined;
  const writer = new DataFileWriter(deps, table, {
    inputBytesMax: OVER * fileBytes,
    // A merge takes up what has no indexes.
    ...(text === undefined ? {} : { fullBytes: FULL_SHARE * fileBytes }),
    text,
  });
  return { table, writer };
}

/**
 * The table with columns for the attributes that the rows mostly have. They are committed before
 * the rows that fill them.
 */
async function withAttributeColumns(
  deps: StageDeps,
  { lane, names }: StageSource,
  table: Table,
): Promise<Table> {
  const { attributeColumnsMax: columnsMax = 0 } = deps;
  if (roomForAttributes(table.schema, columnsMax) === 0) return table;
  const counts = await sampleAttributes(deps.wal, lane, names);
  if (planAttributeColumns(table.schema, counts, columnsMax).length === 0) return table;
  const made = await addAttributeColumns(deps, tableOf(lane), { counts, columnsMax });
  if (made === undefined) return table;
  const { added } = made;
  if (added.length > 0) deps.observer?.columnsAdded?.(lane, added.map(({ name }) => name));
  return made.table;
}

/** The table with a column for each field, and for whatever the segments have beside. */
async function mappedTable(
  deps: StageDeps,
  { lane, names }: StageSource,
  mapping: DocMapping,
): Promise<Table> {
  const columns = new Map<string, Column>();
  for (const name of names) {
    await using segment = await openSegment(deps, lane, name);
    for (const column of readOrBlame(name, () => decodeSchemaMessage(segment.schemaMessage))) {
      columns.set(column.name, columns.get(column.name) ?? column);
    }
  }
  const schema = targetSchema(mapping, [...columns.values()]);
  const ident = tableOf(lane);
  const table = await ensureTable(deps, { ident, schema });
  return await addColumns(deps, ident, schema) ?? table;
}

async function openSegment(deps: StageDeps, lane: LaneId, name: string): Promise<SegmentReader> {
  try {
    return await deps.wal.open(lane, name);
  } catch (error) {
    throw blamed(name, error);
  }
}

async function* joinedOf(
  batches: AsyncIterable<RowsOfMessages>,
  joiner: BatchJoiner,
): AsyncGenerator<RowsOfMessages> {
  for await (const rows of batches) yield* joiner.add(rows);
  yield* joiner.rest();
}

/** Damage may be passed over as long as a frame is intact. */
async function* batchesOf(
  segment: SegmentReader,
  columns: readonly Column[],
  reading: FramesOptions,
): AsyncGenerator<RowsOfMessages> {
  const schema: TableSchema = { columns, tags: [] };
  let frames = 0;
  try {
    for await (const { message } of segment.frames(undefined, reading)) {
      frames += 1;
      yield { batch: decodeBatch(message, schema), messageBytes: message.byteLength };
    }
    if (frames === 0) throw damagedFrame(segment.name, segment.framesOffset);
  } catch (error) {
    throw blamed(segment.name, error);
  }
}

function readOrBlame<T>(segment: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw blamed(segment, error);
  }
}

/**
 * Damaged, of another version, or not of the table's shape: that stays so. Any other error passes
 * as it is.
 */
const BLAMED: readonly ErrorCode[] = ["corrupt", "unimplemented", "unprocessable"];

function blamed(segment: string, error: unknown): unknown {
  const isItsFault = BLAMED.some((code) => isOperatingError(error, code));
  return isItsFault ? new UnreadableSegment(segment, error) : error;
}
