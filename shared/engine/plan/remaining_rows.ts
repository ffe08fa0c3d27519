/**
 * Data files from which another engine deleted rows, for statements: what remains of each is
 * written to the cache directory once, and read as rows of the WAL are. So no count, index or copy
 * of the data file is used, and no path has to know of deletes.
 *
 * It lasts until the compactor applies the deletes (`shared/upkeep/apply_deletes.ts`): seconds.
 * Files are written one at a time. Those in use are never removed; idle ones go, least recently
 * used first, when they exceed their bound. A statement that needs more than that is refused.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf, OperatingError } from "../../base/errors.ts";
import { type ColumnBatch, columnBytes } from "../../columns/batch.ts";
import { takeRows } from "../../columns/gather.ts";
import { timestampRangeOf } from "../../columns/timestamps.ts";
import type { Table } from "../../iceberg/types.ts";
import { type TouchedFile, touchedName } from "../../iceberg/touched_files.ts";
import type { FileSystem } from "../../os/file_system.ts";
import type { ParquetDecoder } from "../../parquet/parquet_decoder.ts";
import type { ParquetEncoder } from "../../parquet/parquet_encoder.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { readBatches } from "../../tables/file_run.ts";
import { type GoneRows, readForeignDeletes } from "../../tables/foreign_deletes.ts";
import { REMAINING_BYTES_MAX, REMAINING_CACHE_BYTES_MAX } from "../limits.ts";
import { type DeltaFile, placeDeltaFile } from "./delta_file.ts";

export interface RemainingRowsOptions {
  readonly store: Pick<ReadableStore, "get">;
  readonly decoder: ParquetDecoder;
  readonly encoder: ParquetEncoder;
  readonly files: Pick<FileSystem, "create" | "remove">;
  /** Directory of the files. It exists and is empty. */
  readonly dir: string;
  /** Default `REMAINING_CACHE_BYTES_MAX`. */
  readonly bytesMax?: number;
  /** Bytes of data files that one statement has written anew; default `REMAINING_BYTES_MAX`. */
  readonly inputBytesMax?: number;
}

/** Files that one statement reads; they stay until it is disposed. */
export interface RemainingLease extends Disposable {
  readonly files: readonly DeltaFile[];
}

interface Entry {
  readonly pieces: readonly DeltaFile[];
  leases: number;
}

/** Bytes of rows that make a file. */
const PIECE_BYTES = 32 * 1024 * 1024;

export class RemainingRows implements Disposable {
  readonly #options: RemainingRowsOptions;
  /** By data file, deletes and schema; the least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #filesMade = 0;
  /** The writing that runs; others follow it. */
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: RemainingRowsOptions) {
    this.#options = options;
  }

  /** Bytes of all files in the directory. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * What remains of `touched`, in the table's columns. Errors: `unimplemented` (`delete_files`) for
   * more than can be written; those of `readForeignDeletes` and `readBatches`; `unavailable` when
   * the directory cannot be written; the signal's reason, between row groups.
   */
  async lease(
    table: Pick<Table, "uuid" | "schema" | "schemaId">,
    touched: readonly TouchedFile[],
    signal?: AbortSignal,
  ): Promise<RemainingLease> {
    const { inputBytesMax = REMAINING_BYTES_MAX } = this.#options;
    const bytes = touched.reduce((sum, { file }) => sum + file.byteLength, 0);
    if (bytes > inputBytesMax) throw tooMuch(touched.length, { bytes, inputBytesMax });
    const held: Entry[] = [];
    const giveBack = () => {
      for (const entry of held) entry.leases -= 1;
      this.#trim();
    };
    const turn = this.#running.then(() => this.#hold(table, touched, { held, signal }));
    this.#running = turn.catch(() => {});
    try {
      await turn;
    } catch (error) {
      giveBack();
      throw error;
    }
    this.#trim();
    return { files: held.flatMap(({ pieces }) => pieces), [Symbol.dispose]: giveBack };
  }

  async #hold(
    table: Pick<Table, "uuid" | "schema" | "schemaId">,
    touched: readonly TouchedFile[],
    { held, signal }: { readonly held: Entry[]; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    signal?.throwIfAborted();
    const nameOf = (one: TouchedFile) => `${table.uuid}\n${table.schemaId}\n${touchedName(one)}`;
    const missing: TouchedFile[] = [];
    for (const one of touched) {
      const entry = this.#entries.get(nameOf(one));
      if (entry === undefined) missing.push(one);
      else held.push(this.#use(nameOf(one), entry));
    }
    // Delete files are of one day, as their data files are.
    for (const [, ofDay] of Map.groupBy(missing, ({ file }) => file.day)) {
      const rowsOf = await readForeignDeletes(this.#options, ofDay, signal);
      for (const one of ofDay) {
        const pieces = await this.#write(table, { one, isGone: rowsOf(one).isGone }, signal);
        held.push(this.#use(nameOf(one), { pieces, leases: 0 }));
      }
    }
  }

  /** Ends its threads. */
  [Symbol.dispose](): void {
    this.#options.decoder[Symbol.dispose]();
    this.#options.encoder[Symbol.dispose]();
  }

  #use(name: string, entry: Entry): Entry {
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    entry.leases += 1;
    return entry;
  }

  async #write(
    table: Pick<Table, "schema">,
    { one: { file }, isGone }: { readonly one: TouchedFile; readonly isGone: GoneRows },
    signal: AbortSignal | undefined,
  ): Promise<DeltaFile[]> {
    const pieces: DeltaFile[] = [];
    let waiting: ColumnBatch[] = [];
    const flush = async () => {
      if (waiting.length > 0) pieces.push(await this.#piece(table, waiting));
      waiting = [];
    };
    try {
      let seen = 0;
      for await (const batch of readBatches(this.#options, table, file)) {
        signal?.throwIfAborted();
        const kept = remaining(batch, isGone(batch, seen));
        seen += batch.rows;
        if (kept.rows > 0) waiting.push(kept);
        if (columnBytes(waiting) >= PIECE_BYTES) await flush();
      }
      await flush();
      return pieces;
    } catch (error) {
      this.#remove(pieces);
      throw error;
    }
  }

  async #piece(
    { schema }: Pick<Table, "schema">,
    batches: readonly ColumnBatch[],
  ): Promise<DeltaFile> {
    const { encoder, files, dir } = this.#options;
    using input = encoder.input(batches, schema);
    const written = await encoder.encode(input, { schema, effort: "quick" });
    this.#filesMade += 1;
    const path = `${dir}/remaining-${this.#filesMade}.parquet`;
    const times = batches.map(timestampRangeOf)
      .map(({ min, max }) => ({ timestampNsMin: min, timestampNsMax: max }));
    const placed = await placeDeltaFile(files, path, { file: written, times })
      .catch((error) => {
        throw cannotWrite(error);
      });
    this.#bytes += placed.byteLength;
    return placed;
  }

  #trim(): void {
    const { bytesMax = REMAINING_CACHE_BYTES_MAX } = this.#options;
    for (const [name, entry] of [...this.#entries]) {
      if (this.#bytes <= bytesMax) return;
      if (entry.leases > 0) continue;
      this.#entries.delete(name);
      this.#remove(entry.pieces);
    }
  }

  #remove(pieces: readonly DeltaFile[]): void {
    for (const { path, byteLength } of pieces) {
      this.#bytes -= byteLength;
      this.#options.files.remove(path).catch((error) => {
        getLogger(["svc", "engine"]).warn("cannot remove {path}: {error}", {
          path,
          error: messageOf(error),
        });
      });
    }
  }
}

function remaining(batch: ColumnBatch, isGone: (at: number) => boolean): ColumnBatch {
  const row = new Uint32Array(batch.rows);
  let kept = 0;
  for (let at = 0; at < batch.rows; at += 1) if (!isGone(at)) row[kept++] = at;
  if (kept === batch.rows) return batch;
  return takeRows([batch], { batch: new Uint32Array(kept), row: row.subarray(0, kept) });
}

function tooMuch(
  count: number,
  { bytes, inputBytesMax }: { readonly bytes: number; readonly inputBytesMax: number },
): OperatingError {
  return new OperatingError(
    "unimplemented",
    `Cannot read ${count} data files from which another engine deleted rows: they have ${bytes} ` +
      `bytes, and a statement takes ${inputBytesMax}. Ask for a shorter time, or wait until the ` +
      "compactor has applied the deletes.",
    { reason: "delete_files" },
  );
}

function cannotWrite(cause: unknown): OperatingError {
  return new OperatingError(
    "unavailable",
    "Cannot apply another engine's deletes: the query server's cache directory cannot be " +
      "written; free space there",
    { reason: "cache_not_writable", retryAfterSecs: 5, cause },
  );
}
