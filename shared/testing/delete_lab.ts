/**
 * A table and its delete tasks for tests: a store in memory, catalog and ledger in one SQLite file,
 * a clock that a test moves. Rows are numbers, kept in the column `raw`; number `n` is `n` seconds
 * into its day, host `h<n % 5>`, and has an attribute `odd` when it is odd.
 */

import { present } from "../base/assert.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { DeleteLedger, DeleteTask, NewDeleteTask } from "../catalog/delete_ledger.ts";
import { SqliteDatabase } from "../catalog/sql_database.ts";
import { SqlDeleteLedger } from "../catalog/sql_delete_ledger.ts";
import { sqliteDialect } from "../catalog/sql_dialect.ts";
import { openSqliteCatalog } from "../catalog/sqlite_catalog.ts";
import { batchOfRows, rowsOf } from "../columns/rows.ts";
import { INLINE_DERIVER } from "../derived/deriver.ts";
import { openRowMatcher, type RowMatcher } from "../engine/predicate/row_matcher.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { commitAppend, ensureTable } from "../iceberg/commit_append.ts";
import { IcebergReader, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { DataFile } from "../iceberg/types.ts";
import { DataFileWriter } from "../tables/data_file_writer.ts";
import type { DeleteTaskDeps } from "../upkeep/delete_task.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { readParquet } from "../parquet/read_parquet.ts";
import { MemoryStore } from "./memory_store.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import type { WalReader } from "../wal/types.ts";
import { SeededRandom } from "./seeded_random.ts";
import { SleeplessClock } from "./sleepless_clock.ts";

export const EVENTS: TableIdent = { namespace: "svc", name: "events" };
/** 2026-11-20T00:00:00Z. */
export const DAY_START_NS = BigInt(Date.UTC(2026, 10, 20)) * 1_000_000n;
const NS_PER_SEC = 1_000_000_000n;
const SECS_PER_DAY = 86_400;

/** A WAL without lanes. */
export const NO_WAL: WalReader = {
  lanes: () => Promise.resolve([]),
  list: () => Promise.resolve([]),
  names: () => Promise.resolve([]),
  messageBytes: () => Promise.resolve(0),
  open: () => Promise.reject(new Error("there is no WAL")),
};

/**
 * Short sleeps (of who backs off) pass at once; longer ones (of who renews a claim) never end by
 * themselves.
 */
class LabClock extends SleeplessClock {
  constructor() {
    super(Date.UTC(2026, 10, 21, 12));
  }

  override sleep(ms: number, options: { signal?: AbortSignal } = {}): Promise<void> {
    const { signal } = options;
    if (ms <= SHORT_MS || signal?.aborted) return super.sleep(ms, options);
    return new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }
}

const SHORT_MS = 1_000;

export interface DeleteLabOptions {
  readonly seed?: number;
  /** Default: DuckDB's, opened with the lab. */
  readonly matcher?: RowMatcher;
}

interface LabParts {
  readonly dir: string;
  readonly clock: LabClock;
  readonly matcher: RowMatcher;
  /** Whether the matcher outlives the lab. */
  readonly isBorrowed: boolean;
  readonly catalog: Catalog;
  readonly ledger: DeleteLedger;
}

export class DeleteLab implements AsyncDisposable {
  readonly store = new MemoryStore("memory://warehouse");
  readonly random: SeededRandom;
  readonly files = new DenoFileSystem();
  wal: WalReader = NO_WAL;
  #tasks = 0;

  readonly dir: string;
  readonly clock: LabClock;
  readonly matcher: RowMatcher;
  readonly catalog: Catalog;
  readonly ledger: DeleteLedger;
  readonly #isBorrowed: boolean;

  private constructor(parts: LabParts, seed: number) {
    this.dir = parts.dir;
    this.clock = parts.clock;
    this.matcher = parts.matcher;
    this.catalog = parts.catalog;
    this.ledger = parts.ledger;
    this.#isBorrowed = parts.isBorrowed;
    this.random = new SeededRandom(seed);
  }

  static async open({ seed = 1, matcher }: DeleteLabOptions = {}): Promise<DeleteLab> {
    const dir = await Deno.makeTempDir({ prefix: "delete-lab-" });
    const files = new DenoFileSystem();
    const path = `${dir}/catalog.db`;
    const clock = new LabClock();
    const opened = matcher ?? await openRowMatcher({
      files,
      scratchDir: `${dir}/scratch`,
      readableDirs: [],
      memoryBytesMax: 256 * 2 ** 20,
      threads: 2,
    });
    const catalog = await openSqliteCatalog({ path, clock });
    const database = new SqliteDatabase(path, { busyTimeoutMs: 2_000 });
    const ledger = new SqlDeleteLedger(database, sqliteDialect(clock));
    const isBorrowed = matcher !== undefined;
    await files.mkdir(`${dir}/scratch`);
    return new DeleteLab({ dir, clock, matcher: opened, isBorrowed, catalog, ledger }, seed);
  }

  get deps(): DeleteTaskDeps {
    const { catalog, ledger, store, clock, random, files, wal } = this;
    return {
      catalog,
      ledger,
      store,
      clock,
      random,
      files,
      wal,
      encoder: INLINE_PARQUET_ENCODER,
      deriver: INLINE_DERIVER,
      reader: new IcebergReader(store),
      matcher: () => Promise.resolve(this.matcher),
      scratchDir: () => Promise.resolve(`${this.dir}/scratch`),
      claimant: "lab",
      policy: { retryMs: 0 },
    };
  }

  /** Commits one file for each day that the numbers lie in. */
  async commit(numbers: readonly number[], ident = EVENTS): Promise<void> {
    const { deps } = this;
    const table = await ensureTable(deps, { ident, schema: EVENTS_SCHEMA });
    const writer = new DataFileWriter(deps, table);
    await writer.add(batchOf(numbers));
    await commitAppend(deps, {
      ident,
      schema: EVENTS_SCHEMA,
      files: await writer.finish(),
      consumed: [],
    });
  }

  /** Records a task over the table as it is. */
  async submit(predicate: string, fields: Partial<NewDeleteTask> = {}): Promise<DeleteTask> {
    const ident = fields.ident ?? EVENTS;
    const task = await this.ledger.submit({
      taskId: `task-${++this.#tasks}`,
      ident,
      tableUuid: (await this.load(ident))?.uuid,
      epoch: 0,
      predicate,
      startNs: undefined,
      endNs: undefined,
      ...fields,
    }, 1_000);
    return present(task, "a task");
  }

  async task({ taskId, ident }: DeleteTask): Promise<DeleteTask> {
    return present(await this.ledger.find(ident.namespace, taskId), "a task");
  }

  /** The table as a fresh reader sees it. */
  async load(ident = EVENTS): Promise<LoadedTable | undefined> {
    const location = await this.catalog.metadataLocation(ident);
    return location === undefined
      ? undefined
      : await new IcebergReader(this.store).loadTable(ident, location);
  }

  async liveFiles(ident = EVENTS): Promise<readonly DataFile[]> {
    const table = await this.load(ident);
    if (table === undefined) return [];
    return (await new IcebergReader(this.store).selectFiles(table)).files;
  }

  /** Numbers in the table, ascending, each as often as it is there. */
  async numbers(ident = EVENTS): Promise<number[]> {
    const numbers: number[] = [];
    for (const file of await this.liveFiles(ident)) {
      numbers.push(...await numbersOfFile(this.store, file.key));
    }
    return numbers.sort((a, b) => a - b);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isBorrowed) await this.matcher[Symbol.asyncDispose]();
    await this.ledger[Symbol.asyncDispose]();
    await this.catalog.close();
    await Deno.remove(this.dir, { recursive: true });
  }
}

/** In the order of the file's rows. */
export async function numbersOfFile(
  store: Pick<ObjectStore, "get">,
  key: string,
): Promise<number[]> {
  const numbers: number[] = [];
  for await (const batch of readParquet(await store.get(key), key)) {
    numbers.push(...rowsOf(batch).map(({ raw }) => Number(raw)));
  }
  return numbers;
}

/** When row `number` happened. */
export function nsOf(number: number): bigint {
  return DAY_START_NS + BigInt(number) * NS_PER_SEC;
}

export function batchOf(numbers: readonly number[]) {
  return batchOfRows(
    EVENTS_SCHEMA,
    numbers.map((number) => ({
      timestamp: nsOf(number) / 1_000n,
      timestamp_ns: nsOf(number),
      host: `h${number % 5}`,
      source: "lab",
      sourcetype: "lab",
      index: "main",
      raw: String(number),
      attributes: number % 2 === 1 ? '{"odd":"yes"}' : null,
    })),
  );
}

/** `count` numbers from `first`, a day's seconds apart when `daily`. */
export function numbersFrom(first: number, count: number, daily = false): number[] {
  return Array.from({ length: count }, (_, at) => first + at * (daily ? SECS_PER_DAY : 1));
}
