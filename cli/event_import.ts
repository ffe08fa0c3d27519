/**
 * NDJSON events to rows of the table `events`, past the WAL: data files as the lines come, one
 * commit at the end. All lines or none: before the commit nothing names the files, and they are
 * removed when a line is refused.
 *
 * Memory: the rows of one data file, however long the input.
 */

import { isOperatingError, OperatingError } from "../shared/base/errors.ts";
import type { ColumnBatch } from "../shared/columns/batch.ts";
import { type DocumentOptions, EventDocumentBuilder } from "../shared/columns/event_documents.ts";
import { openDeriver } from "../shared/derived/deriver.ts";
import type { SummaryLimits } from "../shared/derived/summary/build_summary.ts";
import { textColumnsOf } from "../shared/derived/text_columns.ts";
import { EVENTS_SCHEMA, EVENTS_TABLE } from "../shared/schema/events.ts";
import { DEFAULT_TENANT, tableOf } from "../shared/tenant/tenant.ts";
import { commitAppend, ensureTable } from "../shared/iceberg/commit_append.ts";
import { DataFileWriter } from "../shared/tables/data_file_writer.ts";
import { fitTo } from "../shared/tables/fit_schema.ts";
import { openParquetEncoder } from "../shared/parquet/parquet_encoder.ts";
import { openWarehouse } from "./open_warehouse.ts";
import type { WarehousePaths } from "./warehouse_options.ts";

export interface ImportOptions {
  /** Limits of the summaries of the data files that it writes. */
  readonly summaries: SummaryLimits;
  /** Told after each batch how many events were read. */
  readonly onProgress?: (events: number) => void;
  /** Aborting it gives up: nothing is committed, and its reason is thrown. */
  readonly signal?: AbortSignal;
}

const BATCH_EVENTS = 4096;
const BATCH_BYTES = 8 * 1024 * 1024;

/**
 * Commits one event per line of `lines`; blank lines are skipped. How many. Errors:
 * `invalid_argument` naming the line; those of the input and of `commitAppend`.
 */
export async function importEvents(
  lines: AsyncIterable<string> | Iterable<string>,
  paths: WarehousePaths,
  options: ImportOptions,
): Promise<number> {
  await using warehouse = await openWarehouse(paths);
  using encoder = openParquetEncoder();
  using deriver = openDeriver(options.summaries);
  const deps = { ...warehouse, encoder, deriver };
  const ident = tableOf({ tenant: DEFAULT_TENANT, index: EVENTS_TABLE });
  const table = await ensureTable(deps, { ident, schema: EVENTS_SCHEMA });
  const text = textColumnsOf(table.schema, undefined);
  const writer = new DataFileWriter(deps, table, { text });
  try {
    const fit = fitTo(table.schema, EVENTS_SCHEMA.columns);
    let events = 0;
    for await (const batch of batchesOf(lines, deps.clock.nowNs())) {
      options.signal?.throwIfAborted();
      await writer.add(fit(batch));
      events += batch.rows;
      options.onProgress?.(events);
    }
    const written = await writer.finish();
    options.signal?.throwIfAborted();
    // The commit point: all lines at once.
    if (written.length > 0) {
      await commitAppend(deps, { ident, schema: EVENTS_SCHEMA, files: written, consumed: [] });
    }
    return events;
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

/** `nowNs` is the time of events that carry none. */
async function* batchesOf(
  lines: AsyncIterable<string> | Iterable<string>,
  nowNs: bigint,
): AsyncGenerator<ColumnBatch> {
  const builder = new EventDocumentBuilder();
  let line = 0;
  for await (const text of lines) {
    line += 1;
    if (text.trim() === "") continue;
    addLine(builder, text, { line, nowNs });
    if (builder.rows >= BATCH_EVENTS || builder.byteLength >= BATCH_BYTES) yield builder.finish();
  }
  if (builder.rows > 0) yield builder.finish();
}

function addLine(builder: EventDocumentBuilder, text: string, options: DocumentOptions): void {
  try {
    builder.addLine(text, options);
  } catch (error) {
    if (!isOperatingError(error, "invalid_argument")) throw error;
    throw new OperatingError(error.code, `${error.message}. Nothing was ingested`, {
      cause: error,
    });
  }
}
