/** The audit of a running query server: the writer over its warehouse's table, or nothing with `--audit-disabled`. */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../shared/base/errors.ts";
import { LateResource } from "../../shared/base/late_resource.ts";
import { openCatalog } from "../../shared/catalog/open_catalog.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { QUERY_AUDIT_TABLE } from "../../shared/event/query_audit.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { environment } from "../../shared/os/environment.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { openStore } from "../../shared/storage/open_store.ts";
import type { QuerySettings } from "../flags.ts";
import { queryPaths } from "../query_paths.ts";
import type { QueryObserver } from "../query_record.ts";
import { AuditTable } from "./audit_table.ts";
import { type AuditDeps, AuditWriter } from "./audit_writer.ts";

/** Disposing it appends what waits, then closes the catalog. */
export interface Audit extends QueryObserver, AsyncDisposable {}

/** Opens nothing yet: the first batch opens the catalog for writing. */
export function openAudit(
  settings: QuerySettings,
  deps: { readonly clock: Clock; readonly metrics: AuditDeps["metrics"] },
): Audit {
  if (settings.auditDisabled) {
    return { completed() {}, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const table = new WarehouseTable(settings, deps.clock);
  const writer = new AuditWriter({
    ...deps,
    append: (batch, signal) => table.append(batch, signal),
    limits: { appendDeadlineMs: settings.auditAppendDeadlineSecs * 1000 },
  });
  const closing = new AsyncDisposableStack();
  closing.use(table);
  closing.use(writer);
  return {
    completed: (record) => writer.completed(record),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

interface Opened extends AsyncDisposable {
  readonly table: AuditTable;
}

/** Its catalog and store are opened with the first batch. */
class WarehouseTable implements AsyncDisposable {
  readonly #settings: QuerySettings;
  readonly #clock: Clock;
  readonly #opened = new LateResource(() => this.#open());

  constructor(settings: QuerySettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  async append(batch: ColumnBatch, signal: AbortSignal): Promise<void> {
    const { table } = await this.#opened.get();
    await table.append(batch, signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened[Symbol.asyncDispose]();
  }

  async #open(): Promise<Opened> {
    const files = new DenoFileSystem();
    const clock = this.#clock;
    const namespace = this.#settings.tenantNamespace;
    const { warehouse, catalog: place } = queryPaths(this.#settings);
    const random = new SystemRandom();
    const { store, sweepUnfinished } = openStore(
      warehouse,
      { files, clock, random, env: environment },
      { unfinishedBelow: `${namespace}/${QUERY_AUDIT_TABLE}` },
    );
    await sweepUnfinished(clock.nowMs()).catch((error) =>
      getLogger(["svc", "query"]).warn("cannot sweep unfinished files of query_audit: {error}", {
        error: messageOf(error),
      })
    );
    const catalog = await openCatalog(place, { files });
    const deps = { store, catalog, clock, random, encoder: INLINE_PARQUET_ENCODER };
    return {
      table: new AuditTable(deps, namespace),
      [Symbol.asyncDispose]: () => catalog.close(),
    };
  }
}
