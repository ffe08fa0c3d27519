/**
 * Promotes the attributes of a table that statements keep asking for: `--promote-hot-attributes`.
 * README.md, "Schema", says what for and what not.
 *
 * Decided by what `query_audit` has of the last days: `audited_statements.ts` reads it, DuckDB's
 * parser finds the attributes, `hot_attributes.ts` tells which are hot. The audit of a namespace
 * may have statements of several tenants, and each counts for its own tenant's tables alone. What
 * is not there, or cannot be read, asks for nothing.
 */

import { present } from "../base/assert.ts";
import { MS_PER_DAY } from "../base/time.ts";
import { narrowed, rowsOf } from "../columns/rows.ts";
import type { StatementReader } from "../engine/predicate/statement_reader.ts";
import {
  attributeOf,
  ATTRIBUTES,
  membersOf,
  promotedValue,
  unaskedColumn,
} from "../schema/promoted.ts";
import { QUERY_AUDIT_TABLE } from "../schema/query_audit.ts";
import type { Column } from "../schema/schema.ts";
import { namespaceOf, type TableIdent } from "../tenant/tenant.ts";
import { type CommitDeps, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { DataFile } from "../iceberg/types.ts";
import { auditedStatements, isUnreadable } from "./audited_statements.ts";
import { type FileRunDeps, readBatches } from "../tables/file_run.ts";
import {
  type AttributeDemand,
  demandOf,
  HOT_WINDOW_DAYS,
  type HotAttribute,
  hotAttributes,
} from "./hot_attributes.ts";
import type { MaintenanceObserver } from "./maintenance_observer.ts";
import { applyUnasked, lackedUnasked, roomForUnasked } from "../tables/migrate.ts";

export interface PromoteOptions {
  /** Columns of a table that may have been promoted so; none of them ever goes. */
  readonly columnsMax: number;
  /** Opened for a turn that has statements to look at, closed with it. */
  readonly openStatements: () => Promise<StatementReader>;
}

export interface PromoteSweepDeps extends CommitDeps {
  readonly decoder: FileRunDeps["decoder"];
  readonly observer?: MaintenanceObserver;
}

/** Statements of a day that are looked at: eight seconds of the parser, where each is another. */
const AUDIT_ROWS_MAX = 20_000;
/**
 * An audited row is in its table by then: the writer waits a minute at most, and thirty seconds for
 * the append.
 */
const LATE_MS = 600_000;
/** Attributes of a table that are looked for in its rows. */
const CANDIDATES_MAX = 64;
/** So many of the newest files are looked at, and so many rows of each. */
const SAMPLED_FILES = 4;
const SAMPLED_ROWS = 4_096;
/**
 * The share of these rows that must have a value that the column can hold. For all other rows
 * statements look into the attributes anyway.
 */
const FILLED_SHARE_MIN = 0.1;

export class PromoteSweep {
  readonly #deps: PromoteSweepDeps;
  readonly #options: PromoteOptions;
  /** The demand of days that are over, by namespace and day. */
  readonly #past = new Map<string, readonly AttributeDemand[]>();

  constructor(deps: PromoteSweepDeps, options: PromoteOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * Promotes by the audit called `ident`, and by no other table. Never has more to do at once.
   * Errors: the catalog's, the store's; the first of what kept a table from it, once the others had
   * their turn.
   */
  async run(ident: TableIdent, signal: AbortSignal): Promise<boolean> {
    if (ident.name !== QUERY_AUDIT_TABLE) return false;
    const hot = hotAttributes(await this.#demand(ident, signal));
    const failures: unknown[] = [];
    for (const wanted of Map.groupBy(hot, (one) => `${one.tenant} ${one.table}`).values()) {
      signal.throwIfAborted();
      await this.#promote(wanted, signal).catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
    return false;
  }

  /** By day. */
  async #demand(ident: TableIdent, signal: AbortSignal): Promise<(readonly AttributeDemand[])[]> {
    const audit = await this.#load(ident);
    if (audit === undefined) return [];
    const { clock } = this.#deps;
    const today = Math.floor(clock.nowMs() / MS_PER_DAY);
    const { files } = await readerOf(this.#deps).selectFiles(audit);
    const byDay = Map.groupBy(files, ({ day }) => day);
    const days: (readonly AttributeDemand[])[] = [];
    const known = new Set<string>();
    for (let day = today; day > today - HOT_WINDOW_DAYS; day -= 1) {
      const name = `${ident.namespace} ${day}`;
      const demand = this.#past.get(name) ??
        await this.#demandOf(audit, byDay.get(day) ?? [], signal);
      days.push(demand);
      if (clock.nowMs() < (day + 1) * MS_PER_DAY + LATE_MS) continue;
      this.#past.set(name, demand);
      known.add(name);
    }
    const own = `${ident.namespace} `;
    for (const name of this.#past.keys()) {
      if (name.startsWith(own) && !known.has(name)) this.#past.delete(name);
    }
    return days;
  }

  async #demandOf(
    audit: LoadedTable,
    files: readonly DataFile[],
    signal: AbortSignal,
  ): Promise<AttributeDemand[]> {
    const options = { files, rowsMax: AUDIT_ROWS_MAX, signal };
    const byTenant = await auditedStatements(this.#deps, audit, options);
    if (byTenant.size === 0) return [];
    await using reader = await this.#options.openStatements();
    const demand: AttributeDemand[] = [];
    for (const [tenant, statements] of byTenant) {
      const namespace = namespaceOf(tenant);
      const reads = await reader.attributes([...statements.keys()], { namespace, signal });
      demand.push(...demandOf(tenant, statements, reads));
    }
    return demand;
  }

  /** What is wanted of one table. */
  async #promote(hot: readonly HotAttribute[], signal: AbortSignal): Promise<void> {
    const { tenant, table: name } = present(hot[0]);
    const ident = { namespace: namespaceOf(tenant), name };
    const { columnsMax } = this.#options;
    const table = await this.#load(ident);
    if (table === undefined || roomForUnasked(table.schema, columnsMax) === 0) return;
    const candidates = hot.flatMap(({ attribute }) => unaskedColumn(attribute) ?? []);
    const lacked = lackedUnasked(table.schema, candidates).slice(0, CANDIDATES_MAX);
    const wanted = await filled(this.#deps, table, { columns: lacked, signal });
    if (wanted.length === 0) return;
    const done = await applyUnasked({ ...this.#deps, signal }, ident, { wanted, columnsMax });
    if (done?.isChange !== true) return;
    const names = new Set(done.promoted.map(attributeOf));
    this.#deps.observer?.promoted?.(ident, hot.filter(({ attribute }) => names.has(attribute)));
  }

  async #load(ident: TableIdent): Promise<LoadedTable | undefined> {
    const location = await this.#deps.catalog.metadataLocation(ident);
    return location === undefined
      ? undefined
      : await readerOf(this.#deps).loadTable(ident, location);
  }
}

/**
 * The columns of `columns` that enough of the table's newest rows would fill. Errors: the store's;
 * the signal's reason.
 */
async function filled(
  deps: PromoteSweepDeps,
  table: LoadedTable,
  { columns, signal }: { readonly columns: readonly Column[]; readonly signal: AbortSignal },
): Promise<readonly Column[]> {
  if (columns.length === 0) return [];
  const names = new Set(columns.map(({ name }) => attributeOf(name)));
  const counts = new Map<string, number>();
  let rows = 0;
  const { files } = await readerOf(deps).selectFiles(table);
  for (const file of files.slice(-SAMPLED_FILES)) {
    signal.throwIfAborted();
    const texts = await someAttributes(deps, table, file);
    rows += texts.length;
    for (const text of texts) {
      for (const [name, json] of membersOf(text, names)) {
        if (promotedValue("string", json) !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
  }
  const enough = Math.max(1, FILLED_SHARE_MIN * rows);
  return columns.filter(({ name }) => (counts.get(attributeOf(name)) ?? 0) >= enough);
}

/**
 * Attributes of the file's first rows. Empty for a file that cannot be read: a later reader will
 * say so.
 */
async function someAttributes(
  deps: PromoteSweepDeps,
  table: LoadedTable,
  file: DataFile,
): Promise<string[]> {
  try {
    for await (const batch of readBatches(deps, table, file)) {
      return rowsOf(narrowed(batch, [ATTRIBUTES])).slice(0, SAMPLED_ROWS)
        .map((row) => String(row[ATTRIBUTES] ?? ""));
    }
    return [];
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}
