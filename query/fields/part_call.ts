/**
 * A request that is answered by several statements. Each goes the way of a statement of `/sql`. It
 * waits for its slot and its memory, and is a row of the audit. The first one counts as the
 * request.
 */

import { textOf } from "../../shared/base/bytes.ts";
import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import type { ColumnCounts, ColumnCountsRequest, Cost, Stats } from "../../shared/engine/types.ts";
import {
  describedColumns,
  describingSql,
  textsOfIndex,
} from "../../shared/search/described_table.ts";
import { addStats } from "../../shared/engine/answer/summed_stats.ts";
import type { SearchTable } from "../../shared/search/search_fields.ts";
import type { IndexService } from "../indexes/index_routes.ts";
import { type EffectiveLimits, effectiveLimits, interactiveTier } from "../limits.ts";
import type { Endpoint } from "../metrics/metrics.ts";
import type { QueryCaller } from "../query_caller.ts";
import { SqlCall } from "../sql/sql_call.ts";
import type { SqlRequest } from "../sql/sql_request.ts";
import type { SqlService } from "../sql/sql_service.ts";
import { addCosts } from "../sql/summed_cost.ts";

/** What the routes of fields are given. */
export interface FieldService extends SqlService, IndexService {}

/** Rows of a statement, as their JSON was parsed. */
export interface PartRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  /** What `PreparedQuery.columnCounts` says. */
  readonly counts: ColumnCounts | undefined;
  /** The first table that the statement reads, as the catalog writes it. */
  readonly table: string | undefined;
}

/** A table by the catalog's name: statements find it in any case. */
export interface NamedTable extends SearchTable {
  readonly name: string;
}

/** Rows beyond so many bytes of JSON are left out of a sample. */
const ROW_BYTES_MAX = 32 * 1024 * 1024;

/** The statements of one request, and what they cost together. */
export class PartCall {
  readonly #service: FieldService;
  readonly #request: Request;
  readonly #made: { readonly caller: QueryCaller; readonly endpoint: Endpoint };
  readonly #startedMs: number;
  readonly #limits: EffectiveLimits;
  #isFirst = true;
  #cost: Cost | undefined;
  #stats: Stats | undefined;

  constructor(
    service: FieldService,
    request: Request,
    made: { readonly caller: QueryCaller; readonly endpoint: Endpoint },
  ) {
    this.#service = service;
    this.#request = request;
    this.#made = made;
    this.#startedMs = service.clock.monotonicMs();
    this.#limits = effectiveLimits({}, interactiveTier(service.rowsCeiling));
  }

  /** What all statements cost, and what they did; there was one at least. */
  get spent(): { readonly cost: Cost | undefined; readonly stats: Stats | undefined } {
    return { cost: this.#cost, stats: this.#stats };
  }

  /** The columns of a table, and in which of them words are looked for. */
  async table(name: string): Promise<NamedTable> {
    const [described, config] = await Promise.all([
      this.rows(describingSql(name), { rowsMax: 1 }),
      // Names of indexes have small letters only.
      this.#service.indexes.get(this.#made.caller.namespace, name.toLowerCase()).catch((error) => {
        if (isOperatingError(error, "not_found")) return undefined;
        throw error;
      }),
    ]);
    return {
      name: described.table ?? name,
      columns: describedColumns(described),
      texts: textsOfIndex(config?.config),
    };
  }

  /** What a statement is priced at, in seconds. Nothing runs. */
  async price(sql: string): Promise<number> {
    const { engine, admission } = this.#service;
    const { caller } = this.#made;
    await using prepared = await engine.prepare({
      ...{ sql, namespace: caller.namespace, tenant: caller.tenant },
      ...{ defaultOrder: false, planOnly: true, rowsMax: 1 },
      deadlineMs: this.#leftMs(),
      waitMs: admission.turnWaits,
      signal: this.#request.signal,
    });
    return prepared.cost.estimated_runtime_seconds;
  }

  /**
   * The rows of a statement, `rowsMax` at most and as many as fit into `ROW_BYTES_MAX`. Errors:
   * those of a statement of `/sql`.
   */
  async rows(
    sql: string,
    { rowsMax, columnCounts }: {
      readonly rowsMax: number;
      readonly columnCounts?: ColumnCountsRequest;
    },
  ): Promise<PartRows> {
    const call = new SqlCall(this.#service, {
      ...this.#made,
      isPart: !this.#isFirst,
      ...(columnCounts === undefined ? {} : { besides: { columnCounts } }),
    });
    this.#isFirst = false;
    await using _ended = call;
    using _stopping = call.stopWith(this.#request);
    try {
      return await this.#rowsOf(call, sql, rowsMax);
    } catch (thrown) {
      const failure = call.failureOf(thrown);
      call.endWith(failure);
      throw failure;
    }
  }

  async #rowsOf(call: SqlCall, sql: string, rowsMax: number): Promise<PartRows> {
    const limits = { ...this.#limits, rowsReturnedMax: rowsMax, timeoutMs: this.#leftMs() };
    await call.prepare(requestOf(sql), limits);
    const running = await call.run();
    const rows: (readonly unknown[])[] = [];
    let bytes = 0;
    for await (const chunk of running.chunks("arrays")) {
      call.throwIfStopped();
      const count = Math.min(chunk.rowCount, rowsMax - rows.length);
      if (count === 0) continue;
      const part = chunk.bytes(count);
      bytes += part.byteLength;
      // Each row ends with a comma.
      for (const row of JSON.parse(`[${textOf(part.subarray(0, -1))}]`)) rows.push(row);
      if (bytes > ROW_BYTES_MAX) break;
    }
    call.throwIfStopped();
    const { cost, columnCounts: counts, tables: [table] } = call.prepared;
    const stats = await running.stats();
    this.#cost = this.#cost === undefined ? cost : addCosts(this.#cost, cost);
    this.#stats = this.#stats === undefined ? stats : addStats(this.#stats, stats);
    call.end("ok", { rowsReturned: rows.length });
    const columns = running.columns.map(({ name }) => name);
    return { columns, rows, counts, table: table?.table };
  }

  #leftMs(): number {
    const leftMs = this.#limits.timeoutMs - (this.#service.clock.monotonicMs() - this.#startedMs);
    if (leftMs > 0) return leftMs;
    throw new OperatingError(
      "deadline_exceeded",
      `Cannot answer within ${this.#limits.timeoutMs / 1000} s of wall clock: narrow the time`,
      { reason: "timeout" },
    );
  }
}

function requestOf(query: string): SqlRequest {
  return {
    query,
    format: "records",
    priority: "interactive",
    default_order: false,
    exact: true,
    dry_run: false,
    types: false,
  };
}
