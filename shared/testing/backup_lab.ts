/**
 * A warehouse with a WAL for tests of backups. Tables are in memory, the catalog is on disk, the
 * WAL on a file system that loses power. A test can count or fail the calls to the backup.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { backUp, type BackupOptions, type BackupReport } from "../backup/back_up.ts";
import { BackupTarget } from "../backup/backup_target.ts";
import { restoreBackup, type RestoreOptions, type RestorePlace } from "../backup/restore.ts";
import { openCatalog } from "../catalog/open_catalog.ts";
import { openCatalogCopier } from "../catalog/open_catalog_parts.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { MemoryStore } from "./memory_store.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import { openWalReader } from "../wal/reader.ts";
import type { Wal } from "../wal/types.ts";
import { openWal } from "../wal/wal.ts";
import { CrashableFileSystem } from "./crashable_file_system.ts";
import { FakeClock } from "./fake_clock.ts";
import { MaintenanceLab } from "./maintenance_lab.ts";
import { numberedBatch, rowsOfMessage } from "./numbered_rows.ts";
import { SeededRandom } from "./seeded_random.ts";
import { EVENTS } from "./table_lab.ts";

export const BACKUP_LANE = { tenant: "default", index: "events" };
const ROOT = "/wal";
const START_NS = BigInt(Date.UTC(2026, 10, 20, 6)) * 1_000_000n;
const MIRROR = "wal-mirror";

const NOTHING: AsyncDisposable = { [Symbol.asyncDispose]: () => Promise.resolve() };

/** What a restore made. */
export interface RestoredRows {
  /** Numbers of the table's rows, in order. */
  readonly table: readonly number[];
  /** Rows of the WAL that the catalog does not have as consumed. */
  readonly wal: readonly number[];
}

export class BackupLab implements AsyncDisposable {
  readonly target = new MemoryStore("memory://backup");
  readonly #opened = new AsyncDisposableStack();
  #places = 0;

  private constructor(
    readonly lab: MaintenanceLab,
    readonly fs: CrashableFileSystem,
    readonly wal: Wal,
  ) {
    this.#opened.use(lab);
    this.#opened.use(wal);
  }

  static async open(seed = 1): Promise<BackupLab> {
    const fs = new CrashableFileSystem();
    const lab = await MaintenanceLab.open(seed);
    const ends = { clock: new FakeClock(), random: new SeededRandom(seed), freeBytesMin: 0 };
    return new BackupLab(lab, fs, await openWal({ ...ends, fs, root: ROOT }));
  }

  /** Commits rows `first` to `first + 9`. */
  async commit(first: number): Promise<void> {
    await this.lab.append(
      Array.from({ length: 10 }, (_, at) => ({
        number: first + at,
        ns: START_NS + BigInt(first + at) * 1_000_000_000n,
      })),
    );
  }

  /** Appends rows to the WAL; the segment that has them. */
  async append(rows: readonly number[], { seals = true } = {}): Promise<string> {
    const { segment } = await this.wal.append(BACKUP_LANE, numberedBatch(rows), "wait_for");
    if (seals) await this.wal.seal(BACKUP_LANE);
    return segment;
  }

  /** Path of a segment's file in one state. */
  path(state: string, name: string): string {
    return `${ROOT}/${BACKUP_LANE.tenant}/${BACKUP_LANE.index}/${state}/${name}`;
  }

  async backUp(
    options: BackupOptions & {
      readonly target?: ObjectStore;
      readonly store?: ObjectStore;
      readonly verifies?: boolean;
      /** Called when the catalog is copied, before the WAL is listed. */
      readonly beforeList?: () => Promise<void>;
    } = {},
  ): Promise<BackupReport> {
    const { lab, fs } = this;
    const { target = this.target, store = lab.store, verifies = true, beforeList, ...rest } =
      options;
    await using copier = await openCatalogCopier(this.catalogPath, { files: new DenoFileSystem() });
    const { leases, longReads } = lab.kept;
    const kept = { leases, longReads, clock: lab.clock, random: lab.random };
    const read = async () => {
      const copy = await copier.read();
      await beforeList?.();
      return copy;
    };
    const copying = { ...{ read, write: copier.write, filled: copier.filled }, ...NOTHING };
    const source = { ...kept, store, copier: copying, files: fs, wal: ROOT, mirrorPrefix: MIRROR };
    return await backUp(source, new BackupTarget(target, { verifies }), rest);
  }

  get catalogPath(): string {
    return join(this.lab.folder, "catalog.db");
  }

  /** Another, empty place. */
  newPlace(): RestorePlace & { readonly fs: CrashableFileSystem; readonly catalogPath: string } {
    this.#places += 1;
    const catalogPath = join(this.lab.folder, `restored-${this.#places}.db`);
    const files = new DenoFileSystem();
    const fs = new CrashableFileSystem();
    return {
      store: new MemoryStore(`file:///restored/${this.#places}`),
      openCatalog: () => openCatalog(catalogPath, { files }),
      openCopier: () => openCatalogCopier(catalogPath, { files }),
      hasCatalog: () => files.exists(catalogPath),
      ...{ catalogName: catalogPath, catalogPath, files: fs, fs, wal: ROOT },
      ...{ clock: this.lab.clock, random: this.lab.random },
    };
  }

  /** Restores into a new place and reads it. */
  async restored(options: RestoreOptions = {}): Promise<RestoredRows> {
    const place = this.newPlace();
    await restoreBackup(new BackupTarget(this.target), place, options);
    return await this.rowsAt(place);
  }

  async rowsAt(place: ReturnType<BackupLab["newPlace"]>): Promise<RestoredRows> {
    await using catalog = await place.openCatalog();
    const location = await catalog.metadataLocation(EVENTS);
    const reader = new IcebergReader(place.store);
    const table: number[] = [];
    if (location !== undefined) {
      assert.ok(location.startsWith(`${place.store.rootUri}/`), location);
      const loaded = await reader.loadTable(EVENTS, location);
      for (const { key } of (await reader.selectFiles(loaded)).files) {
        const file = (await place.store.get(key)).buffer;
        const rows = await parquetReadObjects({ file, compressors, columns: ["raw"] });
        for (const { raw } of rows) table.push(Number(raw));
      }
    }
    const wal = openWalReader(place.fs, ROOT);
    const rows: number[] = [];
    const segments = await wal.list(BACKUP_LANE, ["active", "sealed"]);
    const consumed = await catalog.consumedOf(segments.map(({ name }) => name));
    for (const { name } of segments.filter((one) => !consumed.has(one.name))) {
      await using segment = await wal.open(BACKUP_LANE, name);
      for await (const frame of segment.frames()) rows.push(...rowsOfMessage(frame.message));
    }
    return { table: table.sort((a, b) => a - b), wal: rows.sort((a, b) => a - b) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}

/** `store`, whose calls that change or read something pass `gate`, which may throw or wait. */
export function gatedStore(
  store: ObjectStore,
  gate: (call: string, key: string) => void | Promise<void>,
): ObjectStore {
  return {
    rootUri: store.rootUri,
    list: (prefix) => store.list(prefix),
    localPath: (key) => store.localPath(key),
    async get(key) {
      await gate("get", key);
      return await store.get(key);
    },
    getRange: (key, offset, length) => store.getRange(key, offset, length),
    head: (key) => store.head(key),
    async putNew(key, bytes) {
      await gate("before put", key);
      await store.putNew(key, bytes);
      await gate("after put", key);
    },
    async delete(keys) {
      await gate("delete", keys[0] ?? "");
      await store.delete(keys);
    },
  };
}
