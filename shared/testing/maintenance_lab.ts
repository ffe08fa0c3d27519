/**
 * A warehouse in memory with a catalog on disk for tests of maintenance, with a clock that only the
 * test moves. Rows are numbers, kept in the column `raw`; what the table holds is read by
 * `hyparquet`, and can be written out for `icebird`.
 */

import { dirname, join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { Catalog } from "../catalog/catalog.ts";
import type { DeleteLedger } from "../catalog/delete_ledger.ts";
import { SqliteDatabase } from "../catalog/sql_database.ts";
import { SqlDeleteLedger } from "../catalog/sql_delete_ledger.ts";
import {
  type MaintenanceCatalog,
  sqlMaintenanceCatalog,
} from "../catalog/sql_maintenance_catalog.ts";
import { sqliteDialect } from "../catalog/sql_dialect.ts";
import { openSqliteCatalog } from "../catalog/sqlite_catalog.ts";
import { batchOfRows } from "../columns/rows.ts";
import { INLINE_DERIVER } from "../derived/deriver.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { commitAppend, ensureTable } from "../iceberg/commit_append.ts";
import { IcebergReader, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { DataFile } from "../iceberg/types.ts";
import type { RowMatcher } from "../engine/predicate/row_matcher.ts";
import { DataFileWriter } from "../tables/data_file_writer.ts";
import type { DeleteTaskDeps } from "../upkeep/delete_task.ts";
import { fitTo } from "../tables/fit_schema.ts";
import type { MaintenanceObserver } from "../upkeep/maintenance_observer.ts";
import type { TableSweepDeps } from "../upkeep/table_sweeps.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { INLINE_PARQUET_DECODER } from "../parquet/parquet_decoder.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { MemoryStore } from "./memory_store.ts";
import { NO_WAL } from "./delete_lab.ts";
import { SeededRandom } from "./seeded_random.ts";
import { SleeplessClock } from "./sleepless_clock.ts";
import { EVENTS } from "./table_lab.ts";

export interface LabRow {
  readonly number: number;
  readonly ns: bigint;
}

/** Called before each call to store and catalog with what it is; it may throw. */
export type LabGate = (call: string) => void;

const TABLE = { ident: EVENTS, schema: EVENTS_SCHEMA };

/** Back-offs pass at once; the longer waits of renewals never do. */
class LabClock extends SleeplessClock {
  override sleep(ms: number, options: { signal?: AbortSignal } = {}): Promise<void> {
    const { signal } = options;
    if (ms < 2_000 || signal === undefined || signal.aborted) return super.sleep(ms, options);
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason), { once: true })
    );
  }
}

export class MaintenanceLab implements AsyncDisposable {
  readonly clock: LabClock;
  readonly catalog: Catalog;
  readonly kept: MaintenanceCatalog;
  readonly ledger: DeleteLedger;
  readonly random: SeededRandom;
  readonly store: MemoryStore;
  readonly #reader: IcebergReader;
  readonly #opened = new AsyncDisposableStack();
  readonly #rowsOf = new Map<string, readonly LabRow[]>();
  #segments = 0;

  private constructor(
    seed: number,
    readonly folder: string,
    parts: { clock: LabClock; catalog: Catalog; kept: MaintenanceCatalog; ledger: DeleteLedger },
  ) {
    this.clock = parts.clock;
    this.catalog = parts.catalog;
    this.kept = parts.kept;
    this.ledger = parts.ledger;
    this.random = new SeededRandom(seed);
    this.store = new MemoryStore(`file://${folder}/warehouse`, () => this.clock.nowMs());
    this.#reader = new IcebergReader(this.store);
    this.#opened.use(parts.catalog);
    this.#opened.use(parts.kept);
    this.#opened.use(parts.ledger);
  }

  static async open(seed: number): Promise<MaintenanceLab> {
    const folder = await Deno.makeTempDir({ prefix: "svc-maintenance-lab-" });
    const path = join(folder, "catalog.db");
    const clock = new LabClock();
    const catalog = await openSqliteCatalog({ path, clock });
    const open = () => new SqliteDatabase(path, { busyTimeoutMs: 2_000 });
    const kept = sqlMaintenanceCatalog(open(), sqliteDialect(clock));
    const ledger = new SqlDeleteLedger(open(), sqliteDialect(clock));
    return new MaintenanceLab(seed, folder, { clock, catalog, kept, ledger });
  }

  /** What one process works with; `gate` sees its calls. */
  deps(
    options: { readonly gate?: LabGate; readonly observer?: MaintenanceObserver } = {},
  ): TableSweepDeps {
    const { gate = () => {}, observer } = options;
    const store = gated(this.store, gate);
    return {
      store,
      catalog: gated(this.catalog, gate),
      leases: gated(this.kept.leases, gate),
      removals: gated(this.kept.removals, gate),
      reader: this.#reader.through(store),
      clock: this.clock,
      random: this.random,
      encoder: INLINE_PARQUET_ENCODER,
      decoder: INLINE_PARQUET_DECODER,
      deriver: INLINE_DERIVER,
      isBacklogOver: () => Promise.resolve(false),
      ...(observer === undefined ? {} : { observer }),
    };
  }

  /** What one executor of delete tasks works with; `deps` are its others. */
  deleteDeps(
    deps: TableSweepDeps,
    options: { readonly gate?: LabGate; readonly matcher: RowMatcher },
  ): DeleteTaskDeps {
    const { gate = () => {}, matcher } = options;
    const { observer: _, ...others } = deps;
    return {
      ...others,
      reader: deps.reader ?? this.#reader,
      ledger: gated(this.ledger, gate),
      wal: NO_WAL,
      matcher: () => Promise.resolve(matcher),
      files: new DenoFileSystem(),
      scratchDir: () => Promise.resolve(this.folder),
      claimant: "lab",
      policy: { retryMs: 0 },
    };
  }

  /** Commits `rows` as a drain does, in files of at most `inputBytesMax`. */
  async append(rows: readonly LabRow[], deps = this.deps(), inputBytesMax = 1e9): Promise<void> {
    const table = await ensureTable(deps, TABLE);
    const writer = new DataFileWriter(deps, table, { inputBytesMax });
    const fit = fitTo(table.schema, EVENTS_SCHEMA.columns);
    await writer.add(fit(batchOfRows(EVENTS_SCHEMA, rows.map((row) => numberedEvent(row)))));
    const files = await writer.finish();
    this.#segments += 1;
    const consumed = [`segment-${this.#segments}`];
    await commitAppend(deps, { ...TABLE, files, consumed });
  }

  async table(): Promise<LoadedTable | undefined> {
    const location = await this.catalog.metadataLocation(EVENTS);
    if (location === undefined) return undefined;
    return await this.#reader.loadTable(EVENTS, location);
  }

  /** Live files of the present snapshot, or of another of `table`. */
  async files(table?: LoadedTable, snapshotId?: bigint): Promise<readonly DataFile[]> {
    const loaded = table ?? await this.table();
    if (loaded === undefined) return [];
    const metadata = { ...loaded.metadata };
    if (snapshotId !== undefined) metadata["current-snapshot-id"] = snapshotId;
    return (await this.#reader.selectFiles({ ...loaded, metadata })).files;
  }

  /** The table's rows by number. Fails on a file that is not there. */
  async rows(): Promise<LabRow[]> {
    const rows: LabRow[] = [];
    for (const { key } of await this.files()) rows.push(...await this.rowsOf(key));
    return rows.sort((a, b) => a.number - b.number);
  }

  /** The rows of one data file. */
  async rowsOf(key: string): Promise<readonly LabRow[]> {
    await this.store.head(key);
    const known = this.#rowsOf.get(key);
    if (known !== undefined) return known;
    const file = (await this.store.get(key)).buffer;
    const read = await parquetReadObjects({
      file,
      compressors,
      columns: ["raw", "timestamp_ns"],
    });
    const rows = read.map((row) => ({ number: Number(row.raw), ns: row.timestamp_ns as bigint }));
    this.#rowsOf.set(key, rows);
    return rows;
  }

  async keys(): Promise<string[]> {
    return (await Array.fromAsync(this.store.list(""))).map(({ key }) => key);
  }

  /** Writes all objects to where their locations say, for readers of files; the catalog's path. */
  async writeOut(): Promise<string> {
    for (const key of await this.keys()) {
      const path = join(this.folder, "warehouse", key);
      await Deno.mkdir(dirname(path), { recursive: true });
      await Deno.writeFile(path, await this.store.get(key));
    }
    return join(this.folder, "catalog.db");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** The event of a number at a time: `host` and `attributes` follow from the number. */
export function numberedEvent({ number, ns }: LabRow, source = "lab") {
  return {
    timestamp: ns / 1_000n,
    timestamp_ns: ns,
    host: `host-${number % 3}`,
    source,
    sourcetype: source,
    index: "main",
    raw: String(number),
    attributes: number % 5 === 0 ? null : `{"n":${number}}`,
  };
}

/** `target`, whose asynchronous methods pass `gate` before and after they run. */
function gated<T extends object>(target: T, gate: LabGate): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function" || typeof name === "symbol") return value;
      if (name === "list" || name === "localPath") return value.bind(target);
      return async (...args: unknown[]) => {
        gate(`before ${name}`);
        const result = await value.apply(target, args);
        gate(`after ${name}`);
        return result;
      };
    },
  });
}
