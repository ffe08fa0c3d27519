/**
 * One backup: a point of catalog, tables and WAL, copied while everything runs. README.md of this
 * folder says what a point holds, and why it is one.
 */

import { OperatingError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { type CatalogCopier, consumedInCopy, tablesOfCopy } from "../catalog/catalog_copy.ts";
import type { LongReads } from "../catalog/long_reads.ts";
import type { ReadableFiles } from "../os/file_system.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import { type LeaseDeps, underLease } from "../upkeep/held_lease.ts";
import { holdingFiles } from "./backup_holds.ts";
import type { BackupTarget } from "./backup_target.ts";
import { type CopyTotals, FileCopies, MovedOn } from "./copy_files.ts";
import { copyMetadata, copyTable, type HeldTable, type TableCopyDeps } from "./copy_tables.ts";
import { copyMirror, copyWal, listMirror, listWal } from "./copy_wal.ts";
import type { BackedUpFile, Point } from "./point.ts";
import { pruneBackup, type PrunedBackup } from "./prune_backup.ts";

/** What is backed up. */
export interface BackupSource extends LeaseDeps {
  readonly store: ReadableStore;
  readonly copier: CatalogCopier;
  readonly longReads: LongReads;
  readonly files: ReadableFiles;
  /** Folder of the WAL. */
  readonly wal: string;
  /** Folder of the WAL's mirror in the warehouse; empty: there is none. */
  readonly mirrorPrefix: string;
}

export interface BackupOptions {
  /** Points that stay, this one among them; all when absent. */
  readonly keepLast?: number;
  readonly signal?: AbortSignal;
  /** Called often, with how far the backup is. */
  readonly onProgress?: (progress: BackupProgress) => void;
}

/** `moments`: how many were taken so far. */
export interface BackupProgress extends Readonly<CopyTotals> {
  readonly tables: number;
  readonly tablesDone: number;
  readonly moments: number;
}

export interface BackupReport extends BackupProgress {
  readonly name: string;
  readonly momentMs: number;
  readonly segments: number;
  /** Objects of the backup that were damaged; those that the point needs are stored anew. */
  readonly damaged: number;
  readonly pruned: PrunedBackup;
}

const LEASE = "backup";
const MOMENTS_MAX = 5;
const PROGRESS_MS = 250;
/** From a moment on no segment is swept for a minute that a commit takes: half of it is safe. */
const LISTING_MS_MAX = 30_000;

/**
 * Errors: `conflict` while another backup runs, or where the target is another warehouse's;
 * `corrupt` for a table that is not whole. What moves on faster than it can be copied is
 * `unavailable`. Also those of catalog and stores.
 */
export async function backUp(
  source: BackupSource,
  target: BackupTarget,
  options: BackupOptions = {},
): Promise<BackupReport> {
  const { signal = new AbortController().signal } = options;
  const done = await underLease(source, LEASE, {
    signal,
    work: (held) =>
      holdingFiles(source, held, (kept) => new Backup(source, target, options).run(kept)),
  });
  if (done !== "taken") return done;
  throw new OperatingError(
    "conflict",
    "Cannot back up: another backup of this warehouse is running, or was killed in the last 15 seconds; " +
      "try again when it has ended",
    { reason: "backup_running" },
  );
}

class Backup {
  readonly #source: BackupSource;
  readonly #target: BackupTarget;
  readonly #options: BackupOptions;
  #tables = 0;
  #tablesDone = 0;
  #moments = 0;

  constructor(source: BackupSource, target: BackupTarget, options: BackupOptions) {
    this.#source = source;
    this.#target = target;
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<BackupReport> {
    const before = await this.#newestPoint();
    const copies = new FileCopies(this.#source.store, this.#target, before?.files ?? []);
    const told = setInterval(() => this.#tell(copies), PROGRESS_MS);
    try {
      const point = await this.#point(copies, signal);
      signal.throwIfAborted();
      // THE COMMIT POINT of a backup: all that it names is durable.
      const name = await this.#target.putPoint(point);
      const pruned = await pruneBackup(this.#target, this.#options.keepLast);
      this.#tell(copies);
      return {
        ...this.#progress(copies),
        files: point.files.length + point.segments.length,
        bytes: [...point.files, ...point.segments].reduce((sum, { bytes }) => sum + bytes, 0),
        name,
        momentMs: point.momentMs,
        segments: point.segments.filter(({ kind }) => kind !== "keys").length,
        damaged: this.#target.damaged,
        pruned,
      };
    } finally {
      clearInterval(told);
    }
  }

  /** The newest one that can be read. Errors: `conflict` when it is of another warehouse. */
  async #newestPoint(): Promise<Point | undefined> {
    for (const name of (await this.#target.points()).reverse()) {
      let point;
      try {
        point = await this.#target.point(name);
      } catch (error) {
        if (error instanceof OperatingError && error.code === "corrupt") continue;
        throw error;
      }
      if (point.rootUri === this.#source.store.rootUri) return point;
      throw new OperatingError(
        "conflict",
        `Cannot back up ${this.#source.store.rootUri} to ${this.#target.rootUri}: that holds backups of ` +
          `${point.rootUri}; give a folder of its own with --to`,
        { reason: "other_warehouse" },
      );
    }
    return undefined;
  }

  /** Takes moments until one holds still for as long as it must. */
  async #point(copies: FileCopies, signal: AbortSignal): Promise<Point> {
    let last: MovedOn | undefined;
    while (this.#moments < MOMENTS_MAX) {
      signal.throwIfAborted();
      this.#moments += 1;
      try {
        return await this.#moment(copies, signal);
      } catch (error) {
        if (!(error instanceof MovedOn)) throw error;
        last = error;
      }
    }
    throw new OperatingError(
      "unavailable",
      `Cannot back up: ${last?.message} was committed and removed before it could be copied, ` +
        `${MOMENTS_MAX} times; run it again, and it goes on with what it has copied, or when less is written`,
      { reason: "moved_on", cause: last },
    );
  }

  async #moment(copies: FileCopies, signal: AbortSignal): Promise<Point> {
    const { store, copier, files, clock, wal, mirrorPrefix: prefix } = this.#source;
    const momentMs = Math.floor(clock.nowMs());
    const beganMs = clock.monotonicMs();
    const catalog = await copier.read();
    const isConsumed = consumedInCopy(catalog);
    // Before anything that takes long, so that no segment is gone that the catalog does not hold.
    const waiting = await listWal({ files, root: wal }, isConsumed);
    const waitingObjects = await listMirror(store, prefix, isConsumed);
    if (clock.monotonicMs() - beganMs > LISTING_MS_MAX) throw new MovedOn("a WAL segment");
    const deps: TableCopyDeps = { store, target: this.#target, copies, signal };
    const held = await copyMetadata(deps, tablesOfCopy(catalog));
    const segments = await copyWal({ files, root: wal, copies, signal }, waiting);
    const mirrored = await copyMirror({ copies, signal }, waitingObjects);
    const tables = await this.#copyTables(deps, held);
    const point = { momentMs, rootUri: store.rootUri, release: VERSION, catalog };
    return { ...point, files: inOrder([...tables, ...mirrored]), segments };
  }

  async #copyTables(deps: TableCopyDeps, held: readonly HeldTable[]): Promise<BackedUpFile[]> {
    this.#tables = held.length;
    this.#tablesDone = 0;
    const files: BackedUpFile[] = [];
    for (const table of held) {
      for (const file of await copyTable(deps, table)) files.push(file);
      this.#tablesDone += 1;
    }
    return files;
  }

  #progress({ totals }: FileCopies): BackupProgress {
    const { files, bytes, copiedFiles, copiedBytes } = totals;
    return {
      ...{ files, bytes, copiedFiles, copiedBytes },
      tables: this.#tables,
      tablesDone: this.#tablesDone,
      moments: this.#moments,
    };
  }

  #tell(copies: FileCopies): void {
    this.#options.onProgress?.(this.#progress(copies));
  }
}

function inOrder(files: BackedUpFile[]): BackedUpFile[] {
  return files.sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}
