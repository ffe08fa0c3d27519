/**
 * Follows the committed rows of one table: docs/api/follow.md#subscribe. The first poll delivers
 * what the table has from a time on, each later one what appends have added since. Merges and their
 * like add no rows: they are passed over and counted.
 *
 * Delivery is at least once: the cursor moves past a snapshot when all of its rows were delivered.
 * A poll that fails moves it no further.
 */

import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import type { CatalogReader } from "../../shared/catalog/catalog.ts";
import { BUILT_IN_TABLES } from "../../shared/schema/built_in_tables.ts";
import type { Column } from "../../shared/schema/schema.ts";
import type { TableIdent } from "../../shared/tenant/tenant.ts";
import type { IcebergReader, LoadedTable } from "../../shared/iceberg/iceberg_reader.ts";
import { historyGap, historySince } from "../../shared/iceberg/table_history.ts";
import type { DataFile } from "../../shared/iceberg/types.ts";
import type { MetricHandles } from "../../shared/metrics/metrics.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import type { SUBSCRIPTION_METRICS } from "./metrics.ts";
import { rowLines } from "./row_lines.ts";

export interface SubscriptionCursor {
  /** The table's incarnation; undefined before its first commit was seen. */
  readonly tableUuid: string | undefined;
  /** All rows up to and with this snapshot were delivered; undefined: the table had none. */
  readonly snapshotId: bigint | undefined;
  /** Rows that are older are never delivered: Unix nanoseconds. */
  readonly sinceNs: bigint;
}

export interface SubscriptionDeps {
  readonly catalog: Pick<CatalogReader, "metadataLocation" | "indexState">;
  readonly store: Pick<ReadableStore, "get">;
  readonly reader: IcebergReader;
  readonly metrics: MetricHandles<typeof SUBSCRIPTION_METRICS>;
  /** Takes lines, each with its line feed. */
  readonly deliver: (lines: string) => Promise<void>;
  /** Is told of each cursor once what lies before it was delivered. */
  readonly keep: (cursor: SubscriptionCursor) => Promise<void>;
}

export interface SubscriptionOptions {
  readonly ident: TableIdent;
  readonly timeColumn: string;
}

const CHUNK_CHARS = 64 * 1024;

export class Subscription {
  readonly #deps: SubscriptionDeps;
  readonly #ident: TableIdent;
  readonly #timeColumn: string;
  #cursor: SubscriptionCursor;
  /** What the last poll saw. */
  #location: string | undefined;

  constructor(deps: SubscriptionDeps, options: SubscriptionOptions, cursor: SubscriptionCursor) {
    this.#deps = deps;
    this.#ident = options.ident;
    this.#timeColumn = options.timeColumn;
    this.#cursor = cursor;
  }

  get cursor(): SubscriptionCursor {
    return this.#cursor;
  }

  /**
   * Delivers what was committed since the last one. Errors: `not_found` for a table that nobody
   * knows; `conflict` with reason `history_gap`; `invalid_argument` for a time column that is none;
   * those of catalog, store and `deliver`.
   */
  async poll(signal?: AbortSignal): Promise<void> {
    const location = await this.#deps.catalog.metadataLocation(this.#ident);
    if (location === undefined) return await this.#pollWithoutTable();
    if (location === this.#location) return;
    const table = await this.#deps.reader.loadTable(this.#ident, location);
    try {
      if (this.#cursor.tableUuid === undefined) await this.#deliverAll(table, signal);
      else await this.#deliverSince(table, signal);
    } catch (error) {
      if (isOperatingError(error) && error.reason === "history_gap") {
        this.#deps.metrics.historyGaps.add(1, {});
      }
      throw error;
    }
    this.#location = location;
  }

  /** The table's first rows are still to come, or it was dropped. */
  async #pollWithoutTable(): Promise<void> {
    const { namespace, name } = this.#ident;
    if (this.#cursor.tableUuid !== undefined) throw this.#otherTable("was dropped");
    if (BUILT_IN_TABLES.has(name)) return;
    if ((await this.#deps.catalog.indexState(this.#ident)).index !== undefined) return;
    throw new OperatingError(
      "not_found",
      `Cannot follow --table ${name}: namespace ${namespace} has no such table or index; ` +
        "`svc table-info` lists those that there are, as <namespace>.<table>",
      { reason: "unknown_table" },
    );
  }

  async #deliverAll(table: LoadedTable, signal: AbortSignal | undefined): Promise<void> {
    const { files } = await this.#deps.reader.selectFiles(table, {
      minNs: undefined,
      maxNs: undefined,
    });
    await this.#deliverFiles(table, files, signal);
    await this.#moveTo(table, table.snapshotId);
  }

  async #deliverSince(table: LoadedTable, signal: AbortSignal | undefined): Promise<void> {
    const { tableUuid, snapshotId } = this.#cursor;
    if (table.uuid !== tableUuid) throw this.#otherTable("was dropped and made again");
    for await (const step of historySince(this.#deps.reader, table, snapshotId)) {
      if (step.kind === "append") await this.#deliverFiles(table, step.files, signal);
      else this.#skip(step.origin);
      await this.#moveTo(table, step.snapshotId);
    }
  }

  #skip(origin: "svc" | "foreign"): void {
    this.#deps.metrics.rewritesSkipped.add(1, { table: this.#ident.name, origin });
  }

  async #deliverFiles(
    table: LoadedTable,
    files: readonly DataFile[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { store, deliver, metrics } = this.#deps;
    const timeColumn = timeColumnOf(table, this.#timeColumn);
    const { sinceNs } = this.#cursor;
    let lines = "";
    let rows = 0;
    const flush = async () => {
      await deliver(lines);
      metrics.rows.add(rows, { table: this.#ident.name });
      lines = "";
      rows = 0;
    };
    try {
      for await (const line of rowLines(files, { store, table, timeColumn, sinceNs })) {
        signal?.throwIfAborted();
        lines += line;
        rows += 1;
        if (lines.length >= CHUNK_CHARS) await flush();
      }
    } catch (error) {
      // The file went with its snapshot while it was being read.
      if (isOperatingError(error, "not_found")) throw historyGap(table, this.#cursor.snapshotId);
      throw error;
    }
    if (rows > 0) await flush();
  }

  async #moveTo(table: LoadedTable, snapshotId: bigint | undefined): Promise<void> {
    this.#cursor = { ...this.#cursor, tableUuid: table.uuid, snapshotId };
    await this.#deps.keep(this.#cursor);
  }

  #otherTable(what: string): OperatingError {
    this.#deps.metrics.historyGaps.add(1, {});
    return new OperatingError(
      "conflict",
      `Cannot follow table ${this.#ident.namespace}.${this.#ident.name}: it ${what}; begin anew with --since`,
      { reason: "history_gap" },
    );
  }
}

function timeColumnOf({ schema, ident }: LoadedTable, name: string): Column {
  const column = schema.columns.find((one) => one.name === name);
  if (column !== undefined && (column.type === "timestamptz" || column.type === "long")) {
    return column;
  }
  const known = schema.columns.filter(({ type }) => type === "timestamptz").map((one) => one.name);
  throw new OperatingError(
    "invalid_argument",
    `Cannot follow ${ident.name} by --time-column ${name}: it is ` +
      `${column === undefined ? "no column" : column.type}; the table's times are ${
        known.join(", ")
      }`,
  );
}
