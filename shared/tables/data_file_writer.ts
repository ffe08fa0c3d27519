/**
 * Turns rows in arrival order into data files of one table: sorted by time, one day each, each with
 * its sidecar.
 *
 * A pipeline: while one file is encoded and derived from, the rows of the next are collected where
 * it can follow at once; the file before is made durable. So about twice `INPUT_BYTES` of rows are
 * held; half of that where it `isPipelined: false`, as a merge's is.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../base/errors.ts";
import { othersTurn } from "../base/others_turn.ts";
import { withSum } from "../base/summed_uuid.ts";
import { type ColumnBatch, columnBytes } from "../columns/batch.ts";
import { sliceRows } from "../columns/gather.ts";
import type { Deriver } from "../derived/deriver.ts";
import { sidecarKey, withSidecars } from "../derived/sidecar.ts";
import type { Derived, FileRows, TextColumn } from "../derived/types.ts";
import { dataFileKey, type DataFileTraits } from "../iceberg/locations.ts";
import { removeQuietly } from "../iceberg/staging.ts";
import type { NewDataFile, Table } from "../iceberg/types.ts";
import type { CompleteColumns } from "../schema/promoted.ts";
import { type Random, uuidV4 } from "../os/random.ts";
import type { ParquetFile } from "../parquet/describe_parquet.ts";
import { footerSum } from "../parquet/footer.ts";
import type { ParquetEncoder } from "../parquet/parquet_encoder.ts";
import type { OpenInput, ParquetInput } from "../parquet/parquet_input.ts";
import { nextWholeRows, ROW_GROUP_ROWS } from "../parquet/row_groups.ts";
import type { Effort } from "../parquet/writer/packing.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import { type LiftPromoted, liftPromoted } from "./lift_promoted.ts";
import { type DayRows, inTimeOrder } from "./time_order.ts";

/**
 * Bytes of rows that make a file of about an eighth of that. They set the memory of a drain. It is
 * about what a merge makes, as files of it are not merged.
 */
export const INPUT_BYTES = 40 * 1024 * 1024;
/**
 * So much more a file has at most for the sake of whole row groups, and so much room is made for
 * its rows.
 */
const OVER = 1.25;
const ROOM = 1.5;
/** What copies of rows take in batches of some thousand, as a share of their bytes, at most. */
const COPIED_ROOM = 1.05;

export interface DataFileWriterDeps {
  readonly store: ObjectStore;
  readonly random: Random;
  readonly encoder: ParquetEncoder;
  /** Without it the files get no sidecars. */
  readonly deriver?: Deriver;
  /**
   * Called behind each file: frees what it left behind where memory is short, some tens of
   * milliseconds in which nothing else runs. Absent in a process that answers others.
   */
  readonly collect?: () => void;
  /** Bytes of rows that make a file where a caller names none; default `INPUT_BYTES`. */
  readonly inputBytesMax?: number;
}

export interface DataFileWriterOptions {
  /** Default: that of the dependencies. */
  readonly inputBytesMax?: number;
  /** Columns whose words are indexed; without it the files get no index of values either. */
  readonly text?: readonly TextColumn[] | undefined;
  /** Whether a file that was cut at `inputBytesMax` is as large as files get: default false. */
  readonly marksFull?: boolean;
  /**
   * Bytes of rows from which on a file is as large as files get, wherever it was cut: default none.
   */
  readonly fullBytes?: number;
  /** How hard files are compressed: default `usual`. */
  readonly effort?: Effort;
  /**
   * Whether rows of the next file are taken while one is made: quicker, and twice the memory.
   * Default true.
   */
  readonly isPipelined?: boolean;
}

/**
 * Rows that get columns of attributes at once. Each row takes nine bytes for each such column, and
 * a request may have hundreds of thousands of rows.
 */
const LIFTED_ROWS = 32_768;

export class DataFileWriter {
  readonly #deps: DataFileWriterDeps;
  readonly #table: Table;
  readonly #inputBytesMax: number;
  readonly #text: readonly TextColumn[] | undefined;
  readonly #lift: LiftPromoted;
  readonly #marksFull: boolean;
  readonly #fullBytes: number;
  readonly #effort: Effort;
  readonly #isPipelined: boolean;
  readonly #files: NewDataFile[] = [];
  readonly #keys: string[] = [];
  /** The rows that wait, and their bytes. */
  #waiting: OpenInput | undefined;
  #waitingBytes = 0;
  /** Which promoted columns are complete in all of them. */
  #complete: CompleteColumns = 0n;
  /** Settled when the last file's rows are read, and when it is stored. */
  #making: Promise<void> = Promise.resolve();
  #storing: Promise<void> = Promise.resolve();

  constructor(
    deps: DataFileWriterDeps,
    table: Table,
    options: DataFileWriterOptions = {},
  ) {
    this.#deps = deps;
    this.#table = table;
    this.#inputBytesMax = options.inputBytesMax ?? deps.inputBytesMax ?? INPUT_BYTES;
    this.#text = options.text;
    this.#lift = liftPromoted(table.schema);
    this.#marksFull = options.marksFull ?? false;
    this.#fullBytes = options.fullBytes ?? Infinity;
    this.#effort = options.effort ?? "usual";
    this.#isPipelined = options.isPipelined ?? true;
  }

  /** Takes a batch of the table's schema: a copy, and releases it. */
  async add(given: ColumnBatch): Promise<void> {
    for (let from = 0; from < given.rows; from += LIFTED_ROWS) {
      await this.#addPart(sliceRows(given, from, Math.min(from + LIFTED_ROWS, given.rows)));
    }
    given.release?.();
  }

  async #addPart(given: ColumnBatch): Promise<void> {
    const batch = this.#lift(given);
    for (let row = 0; row < batch.rows;) {
      const end = this.#endOfFile(batch, row);
      this.#keep(sliceRows(batch, row, Math.min(end, batch.rows)));
      if (end <= batch.rows) await this.#write(this.#marksFull);
      row = end;
    }
  }

  /** Bytes of the rows that were added since a file was cut last. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Ends the file whose rows were added last. */
  async cut(): Promise<void> {
    await this.#write(false);
  }

  /**
   * Up to which row of `batch`, whose rows before `from` were taken, the file goes; Infinity: it
   * goes on.
   */
  #endOfFile(batch: ColumnBatch, from: number): number {
    const rowBytes = columnBytes([batch]) / batch.rows;
    const bytes = this.#waitingBytes + rowBytes * (batch.rows - from);
    if (from === batch.rows || bytes < this.#inputBytesMax) return Infinity;
    if (!this.#marksFull) return batch.rows;
    const waiting = this.#waiting?.rows ?? 0;
    const missing = Math.max(1, Math.ceil((this.#inputBytesMax - this.#waitingBytes) / rowBytes));
    const end = from + nextWholeRows(waiting + missing - 1) - waiting;
    if (end <= batch.rows) return end;
    // Large rows are not waited for.
    return bytes < OVER * this.#inputBytesMax ? Infinity : batch.rows;
  }

  #keep(batch: ColumnBatch): void {
    const { encoder } = this.#deps;
    const { complete = 0n } = batch;
    this.#complete = this.#waiting === undefined ? complete : this.#complete & complete;
    this.#waiting ??= encoder.open(this.#table.schema, Math.ceil(ROOM * this.#inputBytesMax));
    this.#waiting.add(batch);
    this.#waitingBytes += columnBytes([batch]);
  }

  /** The files with all rows that were added, stored durably. */
  async finish(): Promise<NewDataFile[]> {
    await this.#write(false);
    await this.#storing;
    return this.#files;
  }

  /** Removes what was stored; for files that will not be committed. Never throws. */
  async discard(): Promise<void> {
    this.#waiting?.[Symbol.dispose]();
    this.#waiting = undefined;
    await this.#making;
    await this.#storing.catch(() => {});
    await removeQuietly(this.#deps.store, withSidecars(this.#keys));
  }

  /**
   * Starts files of what waits, once the rows of the one before are done with, and the one before
   * that is stored.
   */
  async #write(isFull: boolean): Promise<void> {
    using waiting = this.#waiting;
    const complete = this.#complete;
    const rowBytes = this.#waitingBytes / (waiting?.rows ?? 1);
    this.#waiting = undefined;
    this.#waitingBytes = 0;
    for (const rows of inTimeOrder(waiting?.batches() ?? [])) {
      const stored = this.#storing;
      // Copied after it, rows take no third file's memory.
      await this.#making;
      // Rows that came in order are in their place.
      const input = waiting !== undefined && rows.isAsGiven
        ? waiting.finish()
        : await this.#copied(rows, rowBytes);
      const isLarge = rowBytes * input.rows >= this.#fullBytes;
      this.#start(rows.day, input, { isFull: isFull || isLarge, complete });
      this.#deps.collect?.();
      await stored;
      if (!this.#isPipelined) await this.#making;
    }
  }

  async #copied(day: DayRows, rowBytes: number): Promise<ParquetInput> {
    const { encoder } = this.#deps;
    using input = encoder.open(this.#table.schema, Math.ceil(COPIED_ROOM * rowBytes * day.rows));
    for (const batch of day.batches()) {
      if (input.rows > 0) await othersTurn();
      input.add(batch);
    }
    return input.finish();
  }

  #start(day: number, input: ParquetInput, traits: DataFileTraits): void {
    const file = this.#fileOf(input);
    const words = this.#deps.deriver?.words(file);
    const encoded = this.#encode(day, input, { traits, words });
    const derived = this.#derive(encoded, { file, words });
    // Both errors are handled here, also when nothing else handles them.
    this.#making = Promise.allSettled([encoded, derived]).then(() => input[Symbol.dispose]());
    // Errors are taken at the next await of the field; until then they must not count as unhandled.
    this.#storing = this.#store({ day, encoded, derived, before: this.#storing });
    this.#storing.catch(() => {});
  }

  async #encode(
    day: number,
    input: ParquetInput,
    { traits, words }: {
      readonly traits: DataFileTraits;
      readonly words: Promise<Derived> | undefined;
    },
  ): Promise<EncodedFile> {
    const { encoder, random } = this.#deps;
    const { schema } = this.#table;
    // Why there are none is told with the sidecar.
    const derived = await words?.catch(() => undefined);
    const written = await encoder.encode(input, {
      schema,
      effort: this.#effort,
      words: derived?.columns ?? [],
    });
    const uuid = withSum(uuidV4(random), footerSum(written.bytes));
    return { key: dataFileKey(this.#table, day, uuid, traits), written };
  }

  async #store({ day, encoded, derived, before }: FileInMaking): Promise<void> {
    await before;
    // Handled also where the file itself cannot be written.
    derived.catch(() => {});
    const { key, written } = await encoded;
    // Listed first: a file whose storing fails half-way is removed with the others.
    this.#keys.push(key);
    const sidecar = this.#storeSidecar(key, derived);
    try {
      this.#files.push(dataFileOf(key, day, { written, table: this.#table }));
      await this.#deps.store.putNew(key, written.bytes);
    } finally {
      await sidecar;
    }
  }

  #fileOf(input: ParquetInput): FileRows {
    return {
      schema: this.#table.schema,
      rows: input.rows,
      batches: input.batches(),
      text: this.#text,
      rowGroupRows: ROW_GROUP_ROWS,
    };
  }

  async #derive(
    encoded: Promise<EncodedFile>,
    { file, words }: { readonly file: FileRows; readonly words: Promise<Derived> | undefined },
  ): Promise<Uint8Array | undefined> {
    const subject = encoded.then(({ key }) => ({ key, rows: file.rows }));
    return await this.#deps.deriver?.derive(file, subject, words);
  }

  /** Never throws: without its sidecar a file is read slower. */
  async #storeSidecar(key: string, derived: Promise<Uint8Array | undefined>): Promise<void> {
    try {
      const bytes = await derived;
      if (bytes !== undefined) await this.#deps.store.putNew(sidecarKey(key), bytes);
    } catch (error) {
      getLogger(["svc", "maintenance"]).warn(
        "no sidecar for {key}, without it statements read all rows of the file: {error}",
        { key, error: messageOf(error) },
      );
    }
  }
}

/** A file that is written, and the key that its bytes give it. */
interface EncodedFile {
  readonly key: string;
  readonly written: ParquetFile;
}

interface FileInMaking {
  readonly day: number;
  readonly encoded: Promise<EncodedFile>;
  readonly derived: Promise<Uint8Array | undefined>;
  /** The files before are stored. */
  readonly before: Promise<void>;
}

function dataFileOf(
  key: string,
  day: number,
  { written, table }: { written: ParquetFile; table: Table },
): NewDataFile {
  const groups = written.footer.rowGroups;
  return {
    key,
    rows: written.rows,
    byteLength: written.bytes.byteLength,
    day,
    timestampNsMin: groups[0]?.timestampNsMin,
    timestampNsMax: groups.at(-1)?.timestampNsMax,
    lowerBounds: written.lowerBounds,
    upperBounds: written.upperBounds,
    nullCounts: written.nullCounts,
    valueCounts: written.valueCounts,
    columnSizes: written.columnSizes,
    splitOffsets: written.splitOffsets,
    sortOrderId: table.sortOrderId,
  };
}
