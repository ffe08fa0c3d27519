/**
 * How tables are: rows, bytes, files, days, snapshots, columns and retention. All of it is read
 * from the metadata that commits wrote, never from rows; what only the WAL has is not in it.
 *
 * Nothing is kept between requests. One request reads at a time, and few may wait for it: a table
 * of many files has much metadata.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { CatalogReader } from "../../shared/catalog/catalog.ts";
import { IcebergReader, type LoadedTable } from "../../shared/iceberg/iceberg_reader.ts";
import { currentSnapshot } from "../../shared/iceberg/table_metadata.ts";
import type { DataFile } from "../../shared/iceberg/types.ts";
import { BUILT_IN_TABLES } from "../../shared/schema/built_in_tables.ts";
import type { DocMapping } from "../../shared/schema/doc_mapping.ts";
import { indexSchema } from "../../shared/schema/index_schema.ts";
import { QUERY_AUDIT_TABLE } from "../../shared/schema/query_audit.ts";
import type { Column, TableSchema } from "../../shared/schema/schema.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import type { QueryCaller } from "../query_caller.ts";

/** Tables that a list has at most; metadata files that it reads at once. */
const TABLES_MAX = 1_000;
const READS_MAX = 8;
/** Requests that wait for their turn. */
const WAITING_MAX = 32;
const RETRY_AFTER_SECS = 1;

/** Where the facts come from. */
export interface TableFactsDeps {
  readonly catalog: Pick<CatalogReader, "indexView" | "tables" | "metadataLocation">;
  readonly store: ReadableStore;
}

/** `built_in`: the service's own. `index`: somebody configured it. `unconfigured`: rows made it. */
export type TableKind = "built_in" | "index" | "unconfigured";

/** A table of a list. Counts are undefined where another program's snapshot does not tell them. */
export interface ListedTable {
  readonly name: string;
  readonly kind: TableKind;
  readonly retentionSecs: number | undefined;
  readonly rows: number | undefined;
  readonly bytes: number | undefined;
  readonly files: number | undefined;
  readonly snapshots: number;
  /** Unix milliseconds; undefined: nothing was committed yet. */
  readonly committedMs: number | undefined;
}

/** One table with its live files and its metadata; both are absent before the first commit. */
export interface TableDetails {
  readonly listed: ListedTable;
  readonly schema: TableSchema;
  readonly table: LoadedTable | undefined;
  readonly files: readonly DataFile[];
}

/** Facts of the tables of a namespace. Errors of all methods: `unavailable`, `corrupt`. */
export class TableFacts {
  readonly #deps: TableFactsDeps;
  readonly #reader: IcebergReader;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(deps: TableFactsDeps) {
    this.#deps = deps;
    this.#reader = new IcebergReader(deps.store, { cacheBytesMax: 0 });
  }

  /** The caller's tables by name, the first 1,000. Errors: `rate_limited`. */
  list(caller: QueryCaller): Promise<ListedTable[]> {
    return this.#inTurn(async () => {
      const names = [...await this.#kinds(caller)].sort(([a], [b]) => a < b ? -1 : 1);
      const wanted = names.slice(0, TABLES_MAX);
      const listed: ListedTable[] = [];
      for (let start = 0; start < wanted.length; start += READS_MAX) {
        const some = wanted.slice(start, start + READS_MAX);
        const read = some.map(async ([name, about]) =>
          listedTable(name, about, await this.#load(caller, name))
        );
        listed.push(...await Promise.all(read));
      }
      return listed;
    });
  }

  /** One table. Errors: `not_found`; `rate_limited`. */
  details(caller: QueryCaller, name: string): Promise<TableDetails> {
    return this.#inTurn(async () => {
      const about = (await this.#kinds(caller)).get(name);
      if (about === undefined) throw unknownTable(name);
      const table = await this.#load(caller, name);
      const entries = table === undefined ? [] : await this.#reader.liveEntries(table);
      return {
        listed: listedTable(name, about, table),
        schema: table?.schema ?? BUILT_IN_TABLES.get(name) ?? futureSchema(about),
        table,
        files: entries.map(({ file }) => file),
      };
    });
  }

  /** A caller that is one of many tenants does not see the audit's table, which is everybody's. */
  async #kinds(
    { namespace, isOneOfMany = false }: QueryCaller,
  ): Promise<ReadonlyMap<string, About>> {
    const { catalog } = this.#deps;
    const [{ indexes }, tables] = await Promise.all([
      catalog.indexView(namespace),
      catalog.tables(namespace),
    ]);
    const kinds = new Map<string, About>();
    for (const name of BUILT_IN_TABLES.keys()) kinds.set(name, { kind: "built_in" });
    for (const [name, { config: { retention, doc_mapping: mapping } }] of indexes) {
      kinds.set(name, { kind: "index", retentionSecs: retention?.period_secs, mapping });
    }
    for (const name of tables) if (!kinds.has(name)) kinds.set(name, { kind: "unconfigured" });
    if (isOneOfMany) kinds.delete(QUERY_AUDIT_TABLE);
    return kinds;
  }

  async #load({ namespace }: QueryCaller, name: string): Promise<LoadedTable | undefined> {
    const ident = { namespace, name };
    const location = await this.#deps.catalog.metadataLocation(ident);
    return location === undefined ? undefined : await this.#reader.loadTable(ident, location);
  }

  async #inTurn<T>(read: () => Promise<T>): Promise<T> {
    if (this.#waiting >= WAITING_MAX) {
      throw new OperatingError(
        "rate_limited",
        `Cannot read how tables are: ${WAITING_MAX} requests wait for that already; ask again`,
        { reason: "tables_busy", retryAfterSecs: RETRY_AFTER_SECS },
      );
    }
    this.#waiting += 1;
    const turn = this.#last.then(read).finally(() => this.#waiting -= 1);
    this.#last = turn.catch(() => {});
    return await turn;
  }
}

interface About {
  readonly kind: TableKind;
  readonly retentionSecs?: number | undefined;
  readonly mapping?: DocMapping;
}

/** The columns that the first commit will make. */
function futureSchema({ mapping }: About): TableSchema {
  return mapping === undefined ? { columns: [], tags: [] } : indexSchema(mapping);
}

function listedTable(
  name: string,
  { kind, retentionSecs }: About,
  table: LoadedTable | undefined,
): ListedTable {
  const snapshot = table === undefined ? undefined : currentSnapshot(table.metadata);
  const total = (member: string) => {
    if (snapshot === undefined) return 0;
    const text = snapshot.summary?.[member];
    return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
  };
  return {
    ...{ name, kind, retentionSecs },
    rows: total("total-records"),
    bytes: total("total-files-size"),
    files: total("total-data-files"),
    snapshots: table?.metadata.snapshots.length ?? 0,
    committedMs: snapshot?.["timestamp-ms"],
  };
}

/** Rows of a column that have a value; files from before the column have none. */
export function valuesIn(files: readonly DataFile[], { id }: Column): number {
  return files.reduce(
    (sum, { valueCounts, nullCounts }) =>
      sum + (valueCounts.get(id) ?? 0) - (nullCounts.get(id) ?? 0),
    0,
  );
}

function unknownTable(name: string): OperatingError {
  return new OperatingError(
    "not_found",
    `Cannot find table ${
      JSON.stringify(name.slice(0, 200))
    }: GET /api/v1/tables lists those there are`,
    { reason: "unknown_table" },
  );
}
