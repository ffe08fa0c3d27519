/**
 * Looks through the sidecars of one table after another for summaries that are missing or damaged,
 * and makes those anew: `shared/upkeep/README.md`, "Summaries that are missing or damaged". A file
 * that is as it should be is not looked at again by this process.
 *
 * Sidecars without indexes are made anew, too, once the day of their file is past: until then the
 * next merge may make them. Such are those of files that were drained without indexes, or by an
 * earlier version. That can wait, and does while many rows wait for a drain.
 *
 * A file that cannot be read is tried again later and later. After `ATTEMPTS_MAX` attempts it is
 * left alone until the process starts again. Its rows are answered by scans, or by an error that
 * says what is wrong with it.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../base/errors.ts";
import { MS_PER_DAY } from "../base/time.ts";
import type { CatalogReader } from "../catalog/catalog.ts";
import { checkSummary } from "../derived/summary/check_summary.ts";
import { isIndexed } from "../derived/text/text_blobs.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { IcebergReader, type LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { DataFile } from "../iceberg/types.ts";
import type { Clock } from "../os/clock.ts";
import type { MaintenanceObserver } from "./maintenance_observer.ts";
import { BACKLOG_BYTES_MAX } from "./merge_sweep.ts";
import { type RebuildDeps, rebuildSidecar } from "./rebuild_sidecars.ts";

export interface SummarySweepDeps extends RebuildDeps {
  readonly catalog: Pick<CatalogReader, "indexState" | "metadataLocation">;
  readonly clock: Clock;
  /** Whether more than `bytes` of rows in the WAL wait for a drain. */
  readonly isBacklogOver: (bytes: number) => Promise<boolean>;
  readonly observer?: MaintenanceObserver;
}

/**
 * `shared/upkeep/README.md`, "Summaries that are missing or damaged": after the first, second and
 * third attempt that failed.
 */
const RETRY_MS = [900_000, 3_600_000, 14_400_000];
const ATTEMPTS_MAX = RETRY_MS.length + 1;
/** Sidecars made anew in one turn; the next turn goes on. */
const REBUILT_MAX = 16;

interface Attempts {
  readonly failed: number;
  readonly notBeforeMs: number;
}

/** What is known of a table's files, by key. */
interface Known {
  readonly whole: ReadonlySet<string>;
  readonly attempts: ReadonlyMap<string, Attempts>;
}

export class SummarySweep {
  readonly #deps: SummarySweepDeps;
  readonly #known = new Map<string, Known>();

  constructor(deps: SummarySweepDeps) {
    this.#deps = deps;
  }

  /**
   * True: there is more to make anew. Errors: the catalog's and the store's; `signal`'s reason,
   * between two files.
   */
  async run(ident: TableIdent, signal: AbortSignal): Promise<boolean> {
    const { catalog, store, observer } = this.#deps;
    const name = `${ident.namespace}.${ident.name}`;
    const location = await catalog.metadataLocation(ident);
    if (location === undefined) {
      this.#known.delete(name);
      return false;
    }
    const reader = new IcebergReader(store);
    const table = await reader.loadTable(ident, location);
    const { files } = await reader.selectWithDeletes(table);
    const census = new Census(this.#deps, table, this.#known.get(name));
    try {
      for (const file of files) {
        signal.throwIfAborted();
        if (census.rebuilt + census.indexed === REBUILT_MAX) return true;
        await census.look(file);
      }
      return false;
    } finally {
      this.#known.set(name, census.known(files));
      const { rebuilt, indexed, failed } = census;
      if (rebuilt + indexed + failed > 0) observer?.mended?.(ident, { rebuilt, indexed, failed });
    }
  }
}

/** One turn. */
class Census {
  rebuilt = 0;
  /** Sidecars of which only the indexes were missing. */
  indexed = 0;
  failed = 0;
  readonly #deps: SummarySweepDeps;
  readonly #table: LoadedTable;
  readonly #whole: Set<string>;
  readonly #attempts: Map<string, Attempts>;
  readonly #today: number;
  #isBehind: boolean | undefined;

  constructor(deps: SummarySweepDeps, table: LoadedTable, before: Known | undefined) {
    this.#deps = deps;
    this.#table = table;
    this.#whole = new Set(before?.whole);
    this.#attempts = new Map(before?.attempts);
    this.#today = Math.floor(deps.clock.nowMs() / MS_PER_DAY);
  }

  /** What is known of files that are still the table's. */
  known(files: readonly DataFile[]): Known {
    const live = new Set(files.map(({ key }) => key));
    return {
      whole: this.#whole.intersection(live),
      attempts: new Map([...this.#attempts].filter(([key]) => live.has(key))),
    };
  }

  async look(file: DataFile): Promise<void> {
    const { clock, store } = this.#deps;
    const { key } = file;
    if (this.#whole.has(key)) return;
    const attempts = this.#attempts.get(key) ?? { failed: 0, notBeforeMs: -Infinity };
    if (attempts.failed >= ATTEMPTS_MAX || clock.monotonicMs() < attempts.notBeforeMs) return;
    const { schema } = this.#table;
    const checked = await checkSummary(store, file, { part: "all", schema });
    if ("damage" in checked) {
      if (!await this.#mend(file, attempts)) return;
      this.rebuilt += 1;
    } else if (!isIndexed(checked.sidecar.blobs)) {
      if (file.day >= this.#today || await this.#mustWait()) return;
      if (!await this.#mend(file, attempts)) return;
      this.indexed += 1;
    }
    this.#whole.add(key);
    this.#attempts.delete(key);
  }

  async #mustWait(): Promise<boolean> {
    return this.#isBehind ??= await this.#deps.isBacklogOver(BACKLOG_BYTES_MAX);
  }

  async #mend(file: DataFile, { failed }: Attempts): Promise<boolean> {
    const { clock } = this.#deps;
    try {
      await rebuildSidecar(this.#deps, { table: this.#table }, { file, wide: false });
      return true;
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      // Replaced meanwhile.
      if (error.code === "not_found") return false;
      this.failed += 1;
      const pauseMs = RETRY_MS[failed] ?? Infinity;
      this.#attempts.set(file.key, {
        failed: failed + 1,
        notBeforeMs: clock.monotonicMs() + pauseMs,
      });
      getLogger(["svc", "maintenance"]).error(
        "the sidecar of {key} cannot be made anew, {next}: {error}",
        {
          key: file.key,
          next: pauseMs === Infinity ? "no further try" : `next try in ${pauseMs / 60_000} min`,
          error: messageOf(error),
        },
      );
      return false;
    }
  }
}
