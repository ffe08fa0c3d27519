/**
 * A WAL, a warehouse and a catalog for tests of the drain. Files are on a machine that can lose
 * power. The catalog is in memory, where it outlives the machine: its transactions count as atomic
 * and durable. Rows are numbers, kept in the column `raw`.
 */

import type { Catalog } from "../catalog/catalog.ts";
import { openSqliteCatalog } from "../catalog/sqlite_catalog.ts";
import { decodeBatch, encodeBatch } from "../columns/ipc.ts";
import { batchOfRows, rowsOf } from "../columns/rows.ts";
import { INLINE_DERIVER } from "../derived/deriver.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { type LaneId, type TableIdent, tableOf } from "../tenant/tenant.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import type { Clock } from "../os/clock.ts";
import type { DrainDeps } from "../drain/drain.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { openLocalStore } from "../storage/local_store.ts";
import { openWalConsumerAdmin } from "../wal/admin.ts";
import { openWalReader } from "../wal/reader.ts";
import type { Wal } from "../wal/types.ts";
import { openWal } from "../wal/wal.ts";
import { CrashableFileSystem, type CrashableOptions } from "./crashable_file_system.ts";
import { SeededRandom } from "./seeded_random.ts";
import { SleeplessClock } from "./sleepless_clock.ts";
import { numbersIn } from "./numbers_in_files.ts";

export const EVENTS_LANE: LaneId = { tenant: "default", index: "events" };
const WAL_ROOT = "/data/wal";
const WAREHOUSE = "/data/warehouse";
const START_NS = BigInt(Date.UTC(2026, 10, 20, 12)) * 1_000_000n;

export class DrainLab<C extends Clock = SleeplessClock> implements AsyncDisposable {
  readonly random: SeededRandom;
  readonly catalog: Catalog;
  fs: CrashableFileSystem;

  private constructor(catalog: Catalog, seed: number, readonly clock: C) {
    this.catalog = catalog;
    this.random = new SeededRandom(seed);
    this.fs = this.#machine({});
  }

  static open(seed?: number): Promise<DrainLab>;
  static open<C extends Clock>(seed: number, clock: C): Promise<DrainLab<C>>;
  static async open(seed = 1, clock: Clock = new SleeplessClock()): Promise<DrainLab<Clock>> {
    return new DrainLab(await openSqliteCatalog({ path: ":memory:" }), seed, clock);
  }

  get deps(): DrainDeps {
    return {
      wal: openWalReader(this.fs, WAL_ROOT),
      admin: openWalConsumerAdmin(this.fs, this.clock, WAL_ROOT),
      store: openLocalStore(this.fs, WAREHOUSE, { random: this.random }),
      catalog: this.catalog,
      clock: this.clock,
      random: this.random,
      encoder: INLINE_PARQUET_ENCODER,
      deriver: INLINE_DERIVER,
      // So that whatever a drain survives, it survives with the commit of a schema before its own.
      attributeColumnsMax: 2,
    };
  }

  openWal(options: { readonly eventsMax?: number } = {}): Promise<Wal> {
    const { fs, clock, random } = this;
    return openWal({ fs, clock, random, root: WAL_ROOT, freeBytesMin: 0, ...options });
  }

  /** Seals one segment for each group of numbers, all durable. */
  async seal(groups: readonly (readonly number[])[], lane = EVENTS_LANE): Promise<void> {
    const wal = await this.openWal();
    for (const numbers of groups) {
      await wal.append(lane, encodeBatch(batchOf(numbers)), "wait_for");
      await wal.seal(lane);
    }
    await wal.close();
  }

  /** Goes on with a machine that has the files of this one; options hold for the new one. */
  restart(options: CrashableOptions = {}): void {
    this.fs = this.fs.kill({ nowMs: () => this.clock.nowMs(), ...options });
  }

  #machine(options: CrashableOptions): CrashableFileSystem {
    return new CrashableFileSystem({ nowMs: () => this.clock.nowMs(), ...options });
  }

  /** Numbers in the table, ascending. */
  async tableNumbers(lane = EVENTS_LANE): Promise<number[]> {
    return await this.#numbersAt(await this.catalog.metadataLocation(tableOf(lane)), lane);
  }

  /**
   * The numbers that a query sees, ascending, by the reader's protocol. It lists the segments, then
   * reads pointer and consumed segments in one transaction. It takes the snapshot's rows and those
   * of the segments that are not consumed.
   */
  async visibleNumbers(lane = EVENTS_LANE): Promise<number[]> {
    const { wal, catalog } = this.deps;
    const listed = await wal.list(lane, ["active", "sealed", "committed"]);
    const view = await catalog.readView(tableOf(lane), listed.map((segment) => segment.name));
    const numbers = await this.#numbersAt(view.metadataLocation, lane);
    for (const { name } of listed) {
      if (view.consumed.has(name)) continue;
      await using segment = await wal.open(lane, name);
      for await (const { message } of segment.frames()) {
        numbers.push(...rowsOf(decodeBatch(message, EVENTS_SCHEMA)).map((row) => Number(row.raw)));
      }
    }
    return numbers.sort((a, b) => a - b);
  }

  /** Keys of the table's data files, in order of key. */
  async tableFiles(ident: TableIdent): Promise<string[]> {
    return (await this.#filesAt(ident, await this.catalog.metadataLocation(ident))).sort();
  }

  async #filesAt(ident: TableIdent, metadataLocation: string | undefined): Promise<string[]> {
    if (metadataLocation === undefined) return [];
    const reader = new IcebergReader(this.deps.store);
    const table = await reader.loadTable(ident, metadataLocation);
    const { files } = await reader.selectFiles(table);
    return files.map((file) => file.key);
  }

  async #numbersAt(metadataLocation: string | undefined, lane: LaneId): Promise<number[]> {
    const keys = await this.#filesAt(tableOf(lane), metadataLocation);
    return await numbersIn(this.deps.store, keys);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.catalog.close();
  }
}

/** Rows called `numbers`; every seventh lies a day later. */
export function batchOf(numbers: readonly number[]) {
  return batchOfRows(
    EVENTS_SCHEMA,
    numbers.map((number) => {
      const days = number % 7 === 6 ? 1n : 0n;
      const ns = START_NS + days * 86_400_000_000_000n + BigInt((number * 37) % 1_000) * 1_000_000n;
      return {
        timestamp: ns / 1_000n,
        timestamp_ns: ns,
        host: `host-${number % 3}`,
        source: "lab",
        sourcetype: "lab",
        index: "main",
        raw: String(number),
        attributes: `{"n":${number}}`,
      };
    }),
  );
}

/** 0, 1, … in groups of `size`. */
export function numberedGroups(groups: number, size: number): number[][] {
  return Array.from(
    { length: groups },
    (_, group) => Array.from({ length: size }, (_, at) => group * size + at),
  );
}
