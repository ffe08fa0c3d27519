/** Appends batches to the Iceberg table `query_audit`: data files, then one commit. */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../../shared/base/errors.ts";
import { batchOfRows, type RowObject } from "../../shared/columns/rows.ts";
import { QUERY_AUDIT_SCHEMA, QUERY_AUDIT_TABLE } from "../../shared/schema/query_audit.ts";
import { addColumns, widened } from "../../shared/iceberg/add_columns.ts";
import { commitAppend, ensureTable } from "../../shared/iceberg/commit_append.ts";
import type { CommitDeps } from "../../shared/iceberg/commit_table.ts";
import type { LoadedTable } from "../../shared/iceberg/iceberg_reader.ts";
import { DataFileWriter } from "../../shared/tables/data_file_writer.ts";
import { applyExpire, type ExpirePolicy } from "../../shared/tables/expire.ts";
import { fitTo } from "../../shared/tables/fit_schema.ts";
import type { ParquetEncoder } from "../../shared/parquet/parquet_encoder.ts";
import type { TableIdent } from "../../shared/tenant/tenant.ts";

/** A reader needs its snapshot for a minute. One commit every five seconds makes twelve. */
const EXPIRE: ExpirePolicy = { retainLast: 20, ageMsMin: 60_000 };
const COMMITS_BETWEEN_EXPIRIES = 20;
/**
 * Room for the rows of a batch, which is one file in any case. Most batches are far smaller than
 * the files of a drain.
 */
const INPUT_BYTES = 1024 * 1024;

/** The table `query_audit`, with one commit for each batch. */
export class AuditTable {
  readonly #deps: CommitDeps & { readonly encoder: ParquetEncoder };
  readonly #namespace: string;
  #commits = 0;

  constructor(deps: CommitDeps & { readonly encoder: ParquetEncoder }, namespace: string) {
    this.#deps = deps;
    this.#namespace = namespace;
  }

  /**
   * Adds all rows or none. Errors: the store's, the catalog's, the errors of `commitAppend`; the
   * signal's reason.
   */
  async append(rows: readonly RowObject[], signal: AbortSignal): Promise<void> {
    const deps = { ...this.#deps, signal };
    const ident = { namespace: this.#namespace, name: QUERY_AUDIT_TABLE };
    const table = await this.#table(deps, ident);
    const batch = batchOfRows(QUERY_AUDIT_SCHEMA, rows);
    const writer = new DataFileWriter(deps, table, { inputBytesMax: INPUT_BYTES });
    try {
      await writer.add(fitTo(table.schema, QUERY_AUDIT_SCHEMA.columns)(batch));
      const files = await writer.finish();
      signal.throwIfAborted();
      await commitAppend(deps, { ident, schema: QUERY_AUDIT_SCHEMA, files, consumed: [] });
    } catch (error) {
      // After an unknown outcome the table may name the files.
      if (!isOperatingError(error) || error.reason !== "commit_unknown") await writer.discard();
      throw error;
    }
    this.#commits += 1;
    if (this.#commits % COMMITS_BETWEEN_EXPIRIES !== 0) return;
    // The rows are in the table. What goes wrong from here on is no failed append.
    await applyExpire(deps, ident, EXPIRE).catch((error) =>
      getLogger(["svc", "query"]).warn("cannot expire snapshots of query_audit: {error}", {
        error: messageOf(error),
      })
    );
  }

  /** The table, with all columns: one of an older program lacks those that came since. */
  async #table(deps: CommitDeps, ident: TableIdent): Promise<LoadedTable> {
    const table = await ensureTable(deps, { ident, schema: QUERY_AUDIT_SCHEMA });
    if (widened(table.schema, QUERY_AUDIT_SCHEMA) === table.schema) return table;
    return await addColumns(deps, ident, QUERY_AUDIT_SCHEMA) ?? table;
  }
}
