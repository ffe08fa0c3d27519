/**
 * `IndexCatalog` and the reading of an `IndexView`, for both databases. The tables are in
 * `sqlite_schema.ts`.
 */

import { parseStoredConfig } from "../schema/index_config.ts";
import { parseIndexTemplate } from "../schema/index_template.ts";
import type { IndexTemplate } from "../schema/index_template.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import type {
  DroppedTable,
  Epoch,
  IndexCatalog,
  IndexState,
  IndexView,
  ManagedIndex,
} from "./index_catalog.ts";
import {
  integerOfRow,
  parsedOf,
  sql,
  type SqlDatabase,
  type SqlRow,
  textOfRow,
  type Transaction,
} from "./sql_database.ts";

/** The statement whose rows make the views: of namespace $1 alone when `ofOne`. */
export function readViews(ofOne: boolean): string {
  const where = ofOne ? " WHERE table_namespace = $1" : "";
  return "SELECT 'index' AS kind, table_namespace AS namespace, table_name AS name, etag, " +
    `config, '' AS body, 0 AS epoch, 0 AS dropped_ms FROM svc_indexes${where} ` +
    "UNION ALL SELECT 'template', table_namespace, template_id, '', '', body, 0, 0 " +
    `FROM svc_index_templates${where} ` +
    "UNION ALL SELECT 'epoch', table_namespace, table_name, '', '', '', epoch, dropped_ms " +
    `FROM svc_index_epochs${where}`;
}

/** The statement whose one row is the state of table $2 in namespace $1. */
export const READ_STATE = "SELECT etag, config, epoch FROM (SELECT 1 AS one) AS always " +
  "LEFT JOIN svc_indexes AS i ON i.table_namespace = $1 AND i.table_name = $2 " +
  "LEFT JOIN svc_index_epochs AS e ON e.table_namespace = $1 AND e.table_name = $2";

const PARSED_MAX = 4_096;

/** Reads states; configurations that were read before are not parsed again. */
export class IndexStates {
  /** By tag, oldest first: a tag stands for one text. */
  readonly #parsed = new Map<string, ManagedIndex>();

  /**
   * The state of an index by the row of `READ_STATE`. Without a row nothing is known. Errors:
   * `corrupt`.
   */
  of(row: SqlRow | undefined): IndexState {
    if (row === undefined) return { index: undefined, epoch: 0 };
    return {
      index: row["etag"] === null ? undefined : this.index(row),
      epoch: row["epoch"] === null ? 0 : integerOfRow(row, "epoch"),
    };
  }

  /** The index by a row with `etag` and `config`. Errors: `corrupt`. */
  index(row: SqlRow): ManagedIndex {
    const etag = textOfRow(row, "etag");
    let index = this.#parsed.get(etag);
    if (index === undefined) {
      index = { config: parsedOf(row, "config", parseStoredConfig), etag };
      const [oldest] = this.#parsed.keys();
      if (this.#parsed.size >= PARSED_MAX && oldest !== undefined) this.#parsed.delete(oldest);
      this.#parsed.set(etag, index);
    }
    return index;
  }
}

/** Views by namespace. Errors: `corrupt`. */
export function viewsOf(rows: readonly SqlRow[], states: IndexStates): Map<string, IndexView> {
  const views = new Map<string, OpenView>();
  for (const row of rows) {
    const namespace = textOfRow(row, "namespace");
    let view = views.get(namespace);
    if (view === undefined) {
      view = { indexes: new Map(), templates: [], epochs: new Map() };
      views.set(namespace, view);
    }
    add(view, row, states);
  }
  return views;
}

interface OpenView {
  readonly indexes: Map<string, ManagedIndex>;
  readonly templates: IndexTemplate[];
  readonly epochs: Map<string, Epoch>;
}

function add(view: OpenView, row: SqlRow, states: IndexStates): void {
  const name = textOfRow(row, "name");
  switch (textOfRow(row, "kind")) {
    case "index":
      view.indexes.set(name, states.index(row));
      break;
    case "template":
      view.templates.push(parsedOf(row, "body", parseIndexTemplate));
      break;
    default:
      view.epochs.set(name, {
        count: integerOfRow(row, "epoch"),
        droppedMs: integerOfRow(row, "dropped_ms"),
      });
  }
}

const IS_TABLE = "catalog_name = $1 AND table_namespace = $2 AND table_name = $3";
const INSERT_INDEX =
  "INSERT INTO svc_indexes (table_namespace, table_name, etag, config) VALUES ($1, $2, $3, $4) " +
  "ON CONFLICT DO NOTHING RETURNING 1 AS one";

export class SqlIndexCatalog implements IndexCatalog {
  readonly #database: SqlDatabase;
  readonly #catalogName: string;

  /** Closes `database` with it. */
  constructor(database: SqlDatabase, options: { readonly catalogName: string }) {
    this.#database = database;
    this.#catalogName = options.catalogName;
  }

  create(namespace: string, index: ManagedIndex): Promise<"created" | "exists"> {
    return this.#database.transaction("create an index", () => this.#create(namespace, index));
  }

  replace(
    namespace: string,
    index: ManagedIndex,
    expected: string | undefined,
  ): Promise<"replaced" | "changed"> {
    return this.#database.transaction(
      "replace an index",
      () =>
        expected === undefined ? this.#adopt(namespace, index) : swap(namespace, index, expected),
    );
  }

  drop(ident: TableIdent, { nowMs }: { readonly nowMs: number }): Promise<boolean> {
    return this.#database.transaction("drop an index", () => this.#drop(ident, nowMs));
  }

  putTemplate(
    namespace: string,
    template: IndexTemplate,
    mayReplace?: (before: IndexTemplate) => boolean,
  ): Promise<"put" | "refused" | "changed"> {
    return this.#database.transaction("put an index template", function* () {
      if (mayReplace !== undefined) return yield* swapTemplate(namespace, template, mayReplace);
      yield sql(
        "INSERT INTO svc_index_templates (table_namespace, template_id, body) VALUES ($1, $2, $3) " +
          "ON CONFLICT (table_namespace, template_id) DO UPDATE SET body = excluded.body",
        [namespace, template.template_id, JSON.stringify(template)],
      );
      return "put";
    });
  }

  deleteTemplate(namespace: string, id: string): Promise<boolean> {
    return this.#database.transaction("delete an index template", function* () {
      const gone = yield sql(
        "DELETE FROM svc_index_templates WHERE table_namespace = $1 AND template_id = $2 " +
          "RETURNING 1 AS one",
        [namespace, id],
      );
      return gone.length > 0;
    });
  }

  droppedTables(max: number): Promise<DroppedTable[]> {
    return this.#database.transaction("list dropped tables", function* () {
      const rows = yield sql(
        "SELECT metadata_location, table_namespace, table_name, dropped_ms " +
          "FROM svc_dropped_tables ORDER BY dropped_ms, metadata_location LIMIT $1",
        [max],
      );
      return rows.map((row) => ({
        ident: { namespace: textOfRow(row, "table_namespace"), name: textOfRow(row, "table_name") },
        metadataLocation: textOfRow(row, "metadata_location"),
        droppedMs: integerOfRow(row, "dropped_ms"),
      }));
    });
  }

  async forgetDropped(metadataLocation: string): Promise<void> {
    await this.#database.transaction("forget a dropped table", function* () {
      yield sql("DELETE FROM svc_dropped_tables WHERE metadata_location = $1", [metadataLocation]);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]();
  }

  *#create(namespace: string, { config, etag }: ManagedIndex): Transaction<"created" | "exists"> {
    const name = config.index_id;
    if (yield* this.#hasTable({ namespace, name })) return "exists";
    const made = yield sql(INSERT_INDEX, [namespace, name, etag, JSON.stringify(config)]);
    return made.length > 0 ? "created" : "exists";
  }

  /** Configures a table that rows made. */
  *#adopt(namespace: string, { config, etag }: ManagedIndex): Transaction<"replaced" | "changed"> {
    const name = config.index_id;
    if (!(yield* this.#hasTable({ namespace, name }))) return "changed";
    const made = yield sql(INSERT_INDEX, [namespace, name, etag, JSON.stringify(config)]);
    return made.length > 0 ? "replaced" : "changed";
  }

  *#drop(ident: TableIdent, nowMs: number): Transaction<boolean> {
    const { namespace, name } = ident;
    const [table] = yield sql(
      `DELETE FROM iceberg_tables WHERE ${IS_TABLE} RETURNING metadata_location`,
      this.#table(ident),
    );
    const configured = yield sql(
      "DELETE FROM svc_indexes WHERE table_namespace = $1 AND table_name = $2 RETURNING 1 AS one",
      [namespace, name],
    );
    if (configured.length === 0 && table === undefined) return false;
    yield sql(
      "INSERT INTO svc_index_epochs (table_namespace, table_name, epoch, dropped_ms) " +
        "VALUES ($1, $2, 1, $3) ON CONFLICT (table_namespace, table_name) " +
        "DO UPDATE SET epoch = svc_index_epochs.epoch + 1, dropped_ms = excluded.dropped_ms",
      [namespace, name, nowMs],
    );
    yield sql(
      "DELETE FROM svc_table_schemas WHERE table_namespace = $1 AND table_name = $2",
      [namespace, name],
    );
    if (table !== undefined) {
      yield sql(
        "INSERT INTO svc_dropped_tables (metadata_location, table_namespace, table_name, dropped_ms) " +
          "VALUES ($1, $2, $3, $4)",
        [textOfRow(table, "metadata_location"), namespace, name, nowMs],
      );
    }
    return true;
  }

  /** Whether rows made a table of that name. */
  *#hasTable(ident: TableIdent): Transaction<boolean> {
    const rows = yield sql(
      `SELECT 1 AS one FROM iceberg_tables WHERE ${IS_TABLE}`,
      this.#table(ident),
    );
    return rows.length > 0;
  }

  #table({ namespace, name }: TableIdent): string[] {
    return [this.#catalogName, namespace, name];
  }
}

function* swap(
  namespace: string,
  { config, etag }: ManagedIndex,
  expected: string,
): Transaction<"replaced" | "changed"> {
  const swapped = yield sql(
    "UPDATE svc_indexes SET etag = $3, config = $4 " +
      "WHERE table_namespace = $1 AND table_name = $2 AND etag = $5 RETURNING 1 AS one",
    [namespace, config.index_id, etag, JSON.stringify(config), expected],
  );
  return swapped.length > 0 ? "replaced" : "changed";
}

function* swapTemplate(
  namespace: string,
  template: IndexTemplate,
  mayReplace: (before: IndexTemplate) => boolean,
): Transaction<"put" | "refused" | "changed"> {
  const isIt = "table_namespace = $1 AND template_id = $2";
  const [before] = yield sql(`SELECT body FROM svc_index_templates WHERE ${isIt}`, [
    namespace,
    template.template_id,
  ]);
  if (before === undefined || !mayReplace(parsedOf(before, "body", parseIndexTemplate))) {
    return "refused";
  }
  const swapped = yield sql(
    `UPDATE svc_index_templates SET body = $3 WHERE ${isIt} AND body = $4 RETURNING 1 AS one`,
    [namespace, template.template_id, JSON.stringify(template), textOfRow(before, "body")],
  );
  return swapped.length > 0 ? "put" : "changed";
}
