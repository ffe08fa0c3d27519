/**
 * A real warehouse and WAL in a temporary directory, for tests: rows are committed to Iceberg or
 * appended to the WAL, for a server or an engine to read. Everything is removed on disposal.
 */

import { withSum } from "../base/summed_uuid.ts";
import { footerSum } from "../parquet/footer.ts";
import { assert } from "../base/assert.ts";
import { dayOfNs } from "../base/time.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { openSqliteCatalog } from "../catalog/sqlite_catalog.ts";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOfRows, type RowObject } from "../columns/rows.ts";
import { type Deriver, INLINE_DERIVER } from "../derived/deriver.ts";
import { sidecarKey } from "../derived/sidecar.ts";
import { textColumnsOf } from "../derived/text_columns.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { LaneId, TableIdent } from "../tenant/tenant.ts";
import { commitAppend, ensureTable } from "../iceberg/commit_append.ts";
import { dataFileKey } from "../iceberg/locations.ts";
import type { NewDataFile } from "../iceberg/types.ts";
import { SystemClock } from "../os/clock.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { SystemRandom, uuidV4 } from "../os/random.ts";
import { ROW_GROUP_ROWS } from "../parquet/row_groups.ts";
import { writeParquet } from "../parquet/write_parquet.ts";
import { openLocalStore } from "../storage/local_store.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import type { Wal } from "../wal/types.ts";
import { openWal } from "../wal/wal.ts";

const EVENTS: TableIdent = { namespace: "svc", name: "events" };
const EVENTS_LANE: LaneId = { tenant: "default", index: "events" };

export interface WarehouseLabOptions {
  /** Default false: there is no WAL. */
  readonly wal?: boolean;
  /** The warehouse; default: a folder. */
  readonly store?: ObjectStore;
}

export interface LabEvent {
  /** Unix nanoseconds. */
  readonly ns: bigint;
  readonly host?: string;
  readonly raw?: string;
  readonly attributes?: string | null;
}

/** What a lab is over. */
export interface Warehouse {
  readonly dir: string;
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  readonly wal: Wal | undefined;
}

export class WarehouseLab implements AsyncDisposable {
  readonly clock = new SystemClock();
  readonly random = new SystemRandom();
  readonly files = new DenoFileSystem();
  readonly dir: string;
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  readonly wal: Wal | undefined;

  protected constructor({ dir, store, catalog, wal }: Warehouse) {
    this.dir = dir;
    this.store = store;
    this.catalog = catalog;
    this.wal = wal;
  }

  static async open(options: WarehouseLabOptions = {}): Promise<WarehouseLab> {
    return new WarehouseLab(await makeWarehouse(options));
  }

  /**
   * Commits rows of `events` as one file, in the given order; `consumed` are segments they came
   * from.
   */
  async commit(
    rows: readonly LabEvent[],
    options: {
      readonly consumed?: readonly string[];
      readonly rowGroupRowsMax?: number;
      readonly sorted?: boolean;
      readonly derived?: boolean | Deriver;
    } = {},
  ): Promise<void> {
    await this.commitRows(rows.map(eventRow), { ...options, ident: EVENTS, schema: EVENTS_SCHEMA });
  }

  /**
   * Commits as `commit` does, into any table whose schema has the two time columns. All rows are of
   * one day.
   */
  async commitRows(
    rows: readonly RowObject[],
    options: {
      readonly ident: TableIdent;
      readonly schema: TableSchema;
      readonly consumed?: readonly string[];
      readonly rowGroupRowsMax?: number;
      readonly sorted?: boolean;
      /** With a sidecar; default false. */
      readonly derived?: boolean | Deriver;
    },
  ): Promise<void> {
    const { ident, schema } = options;
    const deps = {
      store: this.store,
      catalog: this.catalog,
      clock: this.clock,
      random: this.random,
    };
    const table = await ensureTable(deps, { ident, schema });
    const batches = [batchOfRows(schema, rows)];
    const { derived = false } = options;
    const deriver = typeof derived === "boolean" ? INLINE_DERIVER : derived;
    const content = {
      schema,
      rows: rows.length,
      batches,
      text: textColumnsOf(schema, undefined),
      rowGroupRows: ROW_GROUP_ROWS,
    };
    const words = derived === false ? undefined : await deriver.words(content);
    const written = writeParquet(batches, {
      schema,
      words: words?.columns ?? [],
      ...(options.rowGroupRowsMax === undefined
        ? {}
        : { rowGroupRowsMax: options.rowGroupRowsMax }),
    });
    const times = rows.map((row) => BigInt(row["timestamp_ns"] as bigint));
    const [first] = times;
    assert(first !== undefined, "a commit has rows");
    const day = dayOfNs(first);
    const uuid = withSum(uuidV4(this.random), footerSum(written.bytes));
    const key = dataFileKey(table, day, uuid);
    await this.store.putNew(key, written.bytes);
    if (words !== undefined) {
      const subject = { key, rows: rows.length };
      const sidecar = await deriver.derive(content, subject, Promise.resolve(words));
      await this.store.putNew(sidecarKey(key), sidecar);
    }
    const file: NewDataFile = {
      key,
      rows: written.rows,
      byteLength: written.bytes.byteLength,
      day,
      timestampNsMin: times.reduce((a, b) => a < b ? a : b),
      timestampNsMax: times.reduce((a, b) => a > b ? a : b),
      lowerBounds: written.lowerBounds,
      upperBounds: written.upperBounds,
      nullCounts: written.nullCounts,
      valueCounts: written.valueCounts,
      columnSizes: written.columnSizes,
      splitOffsets: written.splitOffsets,
      sortOrderId: options.sorted === false ? 0 : table.sortOrderId,
    };
    await commitAppend(deps, { ident, schema, files: [file], consumed: options.consumed ?? [] });
  }

  /** Appends rows to the WAL lane of `events`; the name of the segment that holds them. */
  async append(rows: readonly LabEvent[], lane: LaneId = EVENTS_LANE): Promise<string> {
    assert(this.wal !== undefined, "the lab was opened without a WAL");
    const batch = encodeBatch(batchOfRows(EVENTS_SCHEMA, rows.map(eventRow)));
    return (await this.wal.append(lane, batch, "auto")).segment;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wal?.close();
    await this.catalog.close();
    await Deno.remove(this.dir, { recursive: true });
  }
}

export async function makeWarehouse(options: WarehouseLabOptions): Promise<Warehouse> {
  const dir = await Deno.makeTempDir({ prefix: "warehouse-lab-" });
  const files = new DenoFileSystem();
  const warehouse = `${dir}/warehouse`;
  await files.mkdir(warehouse);
  const store = options.store ?? openLocalStore(files, warehouse);
  const catalog = await openSqliteCatalog({ path: `${warehouse}/catalog.db` });
  const wal = options.wal === true
    ? await openWal({
      fs: files,
      clock: new SystemClock(),
      random: new SystemRandom(),
      root: `${dir}/wal`,
      freeBytesMin: 0,
    })
    : undefined;
  return { dir, store, catalog, wal };
}

/** The row of `events` that an event is. */
export function eventRow({ ns, host = "h", raw = "", attributes = null }: LabEvent): RowObject {
  return {
    timestamp: ns / 1_000n,
    timestamp_ns: ns,
    host,
    source: "s",
    sourcetype: "t",
    index: "main",
    raw,
    attributes,
  };
}
