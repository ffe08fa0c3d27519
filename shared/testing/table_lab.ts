/**
 * A warehouse in memory for tests of table commits: a store, a SQLite catalog, a clock and
 * randomness, and data files that have metadata but no rows.
 */

import { openSqliteCatalog } from "../catalog/sqlite_catalog.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { utf8 } from "../base/bytes.ts";
import { NS_PER_DAY } from "../base/time.ts";
import type { CommitDeps } from "../iceberg/commit_table.ts";
import { IcebergReader, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import { dataFileKey } from "../iceberg/locations.ts";
import { encodeSingleValue } from "../iceberg/single_value.ts";
import type { DataFile, NewDataFile } from "../iceberg/types.ts";
import { uuidV4 } from "../os/random.ts";
import { MemoryStore } from "./memory_store.ts";
import { SleeplessClock } from "./sleepless_clock.ts";
import { SeededRandom } from "./seeded_random.ts";

export { NS_PER_DAY };
export const EVENTS: TableIdent = { namespace: "svc", name: "events" };

export class TableLab implements AsyncDisposable {
  readonly store = new MemoryStore("memory://warehouse", () => this.clock.nowMs());
  readonly clock = new SleeplessClock();
  readonly random: SeededRandom;
  readonly catalog: Catalog;

  private constructor(catalog: Catalog, seed: number) {
    this.catalog = catalog;
    this.random = new SeededRandom(seed);
  }

  static async open(seed = 1): Promise<TableLab> {
    return new TableLab(await openSqliteCatalog({ path: ":memory:" }), seed);
  }

  /** Another lab with the same objects and the same table `EVENTS`, which holds `consumed`. */
  async copy(consumed: readonly string[], seed = 2): Promise<TableLab> {
    const twin = await TableLab.open(seed);
    for (const key of await this.keys()) await twin.store.putNew(key, await this.store.get(key));
    const table = await this.load();
    if (table === undefined) return twin;
    await twin.catalog.commit({
      ident: EVENTS,
      expected: undefined,
      next: table.metadataLocation,
      tableUuid: table.uuid,
      snapshotId: table.snapshotId ?? 0n,
      consumed,
    });
    return twin;
  }

  get deps(): CommitDeps {
    return { store: this.store, catalog: this.catalog, clock: this.clock, random: this.random };
  }

  /** The table as a fresh reader sees it; undefined when there is none. */
  async load(ident = EVENTS): Promise<LoadedTable | undefined> {
    const location = await this.catalog.metadataLocation(ident);
    return location === undefined ? undefined : await this.reader().loadTable(ident, location);
  }

  /** Keys of the table's live files; undefined when there is no table. */
  async liveKeys(ident = EVENTS): Promise<string[] | undefined> {
    return (await this.liveFiles(ident))?.map((file) => file.key).sort();
  }

  /** The table's live files, oldest first; undefined when there is no table. */
  async liveFiles(ident = EVENTS): Promise<readonly DataFile[] | undefined> {
    const table = await this.load(ident);
    if (table === undefined) return undefined;
    return (await this.reader().selectFiles(table)).files;
  }

  async keys(prefix = ""): Promise<string[]> {
    const keys = [];
    for await (const object of this.store.list(prefix)) keys.push(object.key);
    return keys;
  }

  /** Keys of every metadata file that the present metadata leads to, with those in its log. */
  async namedKeys(ident = EVENTS): Promise<string[]> {
    const table = await this.load(ident);
    if (table === undefined) return [];
    const { metadata, locator } = table;
    const named = new Set([locator.keyOf(table.metadataLocation)]);
    for (const entry of metadata["metadata-log"]) named.add(locator.keyOf(entry["metadata-file"]));
    for (const snapshot of metadata.snapshots) {
      named.add(locator.keyOf(snapshot["manifest-list"] ?? ""));
      const current = { ...metadata, "current-snapshot-id": snapshot["snapshot-id"] };
      for (const manifest of await this.reader().manifests({ ...table, metadata: current })) {
        named.add(locator.keyOf(manifest.location));
      }
    }
    return [...named].sort();
  }

  reader(): IcebergReader {
    return new IcebergReader(this.store);
  }

  /** A file of `table` with `rows` rows, one nanosecond apart from the day's `startNs`th on. */
  newFile(
    table: Pick<LoadedTable, "locationKey">,
    { day, startNs = 0n, rows = 10 }: { day: number; startNs?: bigint; rows?: number },
  ): NewDataFile {
    const timestampNsMin = BigInt(day) * NS_PER_DAY + startNs;
    const timestampNsMax = timestampNsMin + BigInt(rows - 1);
    const bounds = (ns: bigint, host: string) =>
      new Map([
        [1, encodeSingleValue("timestamptz", ns / 1_000n)],
        [2, encodeSingleValue("long", ns)],
        [3, utf8(host)],
      ]);
    const columns = EVENTS_SCHEMA.columns.map(({ id }) => id);
    return {
      key: dataFileKey(table, day, uuidV4(this.random)),
      rows,
      byteLength: rows * 100,
      day,
      timestampNsMin,
      timestampNsMax,
      lowerBounds: bounds(timestampNsMin, "alpha"),
      upperBounds: bounds(timestampNsMax, "omega"),
      nullCounts: new Map(columns.map((id) => [id, id === 8 ? 1 : 0])),
      valueCounts: new Map(columns.map((id) => [id, rows])),
      columnSizes: new Map(columns.map((id) => [id, rows * id])),
      splitOffsets: [4],
      sortOrderId: 1,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.catalog.close();
  }
}
