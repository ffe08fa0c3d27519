/**
 * Data files of which a cache holds decompressed copies of the wanted columns. A copy is a Parquet
 * file with the same rows in the same order, and statements read it instead of the data file. What
 * a statement misses is copied in the background, once the statement has ended. Until then, and
 * where a copy cannot be made, the data files are read as they are.
 *
 * A copy has the columns of one statement, or of several. Reading another column of it is refused
 * (`bind/relation.ts`).
 */

import { present } from "../../../base/assert.ts";
import { ROW_GROUP_ROWS } from "../../../parquet/row_groups.ts";
import type { DataFileLease, DataFiles } from "../data_files.ts";
import { LeaseOver } from "../lease_over.ts";
import {
  filePart,
  fileTable,
  type Plan,
  rowsInRange,
  type ScanPart,
  type TablePlan,
} from "../../plan/plan.ts";
import { relationSql } from "../../bind/relation.ts";
import { quoteName, quoteText } from "../../duckdb/statement_text.ts";
import type { DecodedCache, Decoder, TakenFile, WantedColumns } from "./decoded_cache.ts";

/** A file is not worth a copy when a statement reads less than this share of its rows. */
const READ_SHARE_MIN = 1 / 4;
/** Bytes of a column that the file has not: NULLs take next to nothing. */
const CHUNK_BYTES_MIN = 64;

/** The data files behind the copies, and how a copy is written. */
export interface DecodedDataFilesOptions {
  readonly cache: DecodedCache;
  /** Runs a statement of ours that writes below the cache's folder. */
  readonly run: (sql: string, signal: AbortSignal) => Promise<void>;
  /** Tells the size of a file that was written, after making it look old enough to be trusted. */
  readonly settle: (path: string) => Promise<number>;
}

/** Data files, read from copies where there are some. */
export class DecodedDataFiles implements DataFiles, Decoder {
  readonly #inner: DataFiles;
  readonly #options: DecodedDataFilesOptions;

  constructor(inner: DataFiles, options: DecodedDataFilesOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  lease(signal: AbortSignal): DataFileLease {
    return new DecodedLease(this.#inner.lease(signal), this.#options.cache, this);
  }

  async estimate({ file, columns }: WantedColumns, signal: AbortSignal): Promise<number> {
    using lease = this.#inner.lease(signal);
    const ids = new Set(columns.map(({ id }) => id));
    const { rowGroups, byteLength } = await lease.footer(file);
    return byteLength + rowGroups.flatMap((group) => group.columns)
      .filter(({ fieldId }) => fieldId !== undefined && ids.has(fieldId))
      .reduce((sum, chunk) => sum + Math.max(CHUNK_BYTES_MIN, chunk.bytesDecompressed), 0);
  }

  async decode(
    { file, columns }: WantedColumns,
    path: string,
    signal: AbortSignal,
  ): Promise<number> {
    using lease = this.#inner.lease(signal);
    const { tables } = await lease.bring({
      tables: [fileTable(file, columns, [filePart(file, lease.path(file))])],
    });
    await this.#options.run(copySql(present(tables[0]), path), signal);
    return await this.#options.settle(path);
  }
}

interface Exchanged {
  /** Parts that are read from copies. */
  readonly decoded: readonly ScanPart[];
  /** The table with only the other parts. */
  readonly rest: TablePlan;
  /** Files and columns of which copies are worth making. */
  readonly missed: readonly WantedColumns[];
}

class DecodedLease extends LeaseOver {
  readonly decoded = { hits: 0, misses: 0 };
  readonly #cache: DecodedCache;
  readonly #decoder: Decoder;
  readonly #statement: number;
  readonly #taken: TakenFile[] = [];
  readonly #missed: WantedColumns[] = [];

  constructor(inner: DataFileLease, cache: DecodedCache, decoder: Decoder) {
    super(inner);
    this.#cache = cache;
    this.#decoder = decoder;
    this.#statement = cache.nextStatement();
  }

  async bring(plan: Plan): Promise<Plan> {
    const exchanged = plan.tables.map((table) => this.#exchanged(table));
    const brought = await this.inner.bring({ ...plan, tables: exchanged.map(({ rest }) => rest) });
    // What cannot be brought cannot be copied.
    this.#missed.push(...exchanged.flatMap(({ missed }) => missed));
    return {
      ...brought,
      tables: brought.tables.map((table, at) => {
        const decoded = exchanged[at]?.decoded ?? [];
        if (decoded.length === 0) return table;
        return { ...table, parts: [...table.parts, ...decoded] };
      }),
    };
  }

  override [Symbol.dispose](): void {
    this.#cache.giveBack(this.#taken);
    const [statement, decoder] = [this.#statement, this.#decoder];
    for (const wanted of this.#missed) this.#cache.want(wanted, { statement, decoder });
    super[Symbol.dispose]();
  }

  #exchanged(table: TablePlan): Exchanged {
    const columns = table.projected;
    const rest: ScanPart[] = [];
    const decoded: ScanPart[] = [];
    const missed: WantedColumns[] = [];
    for (const parts of Map.groupBy(table.parts, (part) => part.path).values()) {
      const [first] = parts;
      const wanted = first?.origin !== "file" || columns.length === 0
        ? undefined
        : { file: first.file, columns };
      const copy = wanted === undefined ? undefined : this.#copyOf(wanted);
      if (copy === undefined) {
        rest.push(...parts);
        const isWorthIt = wanted !== undefined &&
          rowsIn(parts) >= wanted.file.rows * READ_SHARE_MIN;
        if (isWorthIt) missed.push(wanted);
      } else decoded.push(...parts.map((part) => copied(part, copy)));
    }
    return { rest: decoded.length === 0 ? table : { ...table, parts: rest }, decoded, missed };
  }

  #copyOf(wanted: WantedColumns): TakenFile | undefined {
    const copy = this.#cache.take(wanted, this.#statement);
    this.decoded[copy === undefined ? "misses" : "hits"] += 1;
    if (copy !== undefined) this.#taken.push(copy);
    return copy;
  }
}

function copied(part: ScanPart, { path }: TakenFile): ScanPart {
  return part.origin === "file" ? { ...part, source: { kind: "copy", path } } : part;
}

function rowsIn(parts: readonly ScanPart[]): number {
  return parts.reduce((sum, part) => sum + rowsInRange(part), 0);
}

/**
 * SQL that writes a copy. Its row groups are those of the data file, so that parts of a file are
 * parts of its copy. DuckDB's dictionaries take zeros of both signs for one value, so a copy with
 * doubles has none.
 */
function copySql(table: TablePlan, path: string): string {
  const ids = table.projected.map(({ id, name }) => `${quoteName(name)}: ${id}`).join(", ");
  const hasDoubles = table.projected.some(({ type }) => type === "double");
  return `COPY (${relationSql(table)}) TO ${quoteText(path)} (FORMAT parquet, ` +
    `COMPRESSION uncompressed, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, ` +
    `${hasDoubles ? "DICTIONARY_SIZE_LIMIT 1, " : ""}FIELD_IDS {${ids}})`;
}
