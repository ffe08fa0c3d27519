/** The audit's table in the warehouse: its catalog and store are opened with the first batch. */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../shared/base/errors.ts";
import { LateResource } from "../../shared/base/late_resource.ts";
import { openCatalog } from "../../shared/catalog/open_catalog.ts";
import type { StoragePlaces } from "../../shared/catalog/storage_places.ts";
import type { RowObject } from "../../shared/columns/rows.ts";
import { QUERY_AUDIT_TABLE } from "../../shared/schema/query_audit.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { environment } from "../../shared/os/environment.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { openStore } from "../../shared/storage/open_store.ts";
import { AuditTable } from "./audit_table.ts";

/** Warehouse and catalog, and the namespace of the audit's table. */
export interface AuditPlaces extends StoragePlaces {
  readonly namespace: string;
}

interface Opened extends AsyncDisposable {
  readonly table: AuditTable;
}

/** The audit's table, opened with the first batch. Disposing it closes the catalog. */
export class WarehouseTable implements AsyncDisposable {
  readonly #places: AuditPlaces;
  readonly #clock: Clock;
  readonly #opened = new LateResource(() => this.#open());

  constructor(places: AuditPlaces, clock: Clock) {
    this.#places = places;
    this.#clock = clock;
  }

  /** Adds all rows or none. Errors: the errors of opening, and those of `AuditTable.append`. */
  async append(rows: readonly RowObject[], signal: AbortSignal): Promise<void> {
    const { table } = await this.#opened.get();
    await table.append(rows, signal);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened[Symbol.asyncDispose]();
  }

  async #open(): Promise<Opened> {
    const files = new DenoFileSystem();
    const clock = this.#clock;
    const { warehouse, catalog: place, namespace } = this.#places;
    const random = new SystemRandom();
    const { store, sweepUnfinished } = openStore(
      warehouse,
      { files, clock, random, env: environment },
      { unfinishedBelow: `${namespace}/${QUERY_AUDIT_TABLE}`, keepsRoom: true },
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
