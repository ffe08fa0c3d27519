/** A statement that runs its subqueries first, and then itself with what they gave. */

import { isOperatingError } from "../../base/errors.ts";
import { StatementAround } from "../answer/statement_around.ts";
import { withStatsOf } from "../answer/summed_stats.ts";
import { CHEAP_SECS_MAX } from "../limits.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { freezeMoment } from "../shards/freeze_moment.ts";
import { textAsItIs, textOfTree } from "../statement/parse.ts";
import { type TreeNode, withRoot } from "../statement/syntax_tree.ts";
import type { PreparedQuery, QueryRequest, ResultColumn, RunningQuery, Stats } from "../types.ts";
import { type FoundSubquery, removeUnnamed } from "./find_subqueries.ts";
import type { PlannedSubqueries } from "./first_subqueries.ts";
import { areWritable, FOUND_ROWS_MAX, type FoundColumn, foundColumns } from "./found_columns.ts";
import { replaceSubquery } from "./replace_subquery.ts";

/** When a statement runs its subqueries first. */
export interface FirstPolicy {
  /** Estimated seconds of the whole statement, at least. */
  readonly secsMin: number;
  /**
   * A subquery is run within the statement if it is estimated to take more than this share of it:
   * with too many rows it would be run twice. One that reads the same table as the rest is half.
   */
  readonly shareMax: number;
}

export const FIRST_POLICY: FirstPolicy = { secsMin: CHEAP_SECS_MAX, shareMax: 0.6 };

export interface SubqueriesFirstOptions {
  readonly first: PlannedSubqueries;
  readonly shareMax: number;
  readonly request: QueryRequest;
  /** Prepares a part of the statement, in a seat of its own. */
  readonly prepare: (request: QueryRequest) => Promise<PreparedQuery>;
  /** Asks DuckDB for texts of trees, in a seat of its own. */
  readonly ask: <T>(ask: (connection: EngineConnection) => Promise<T>) => Promise<T>;
  /** Gives back the slot of the whole statement. */
  readonly leave: () => Promise<void>;
  /** Milliseconds that are left of the deadline. */
  readonly leftMs: () => number;
  /** Unix milliseconds. */
  readonly unixMs: () => number;
}

/** It holds no slot while its subqueries have theirs. */
export class SubqueriesFirst extends StatementAround {
  readonly columns: readonly ResultColumn[];
  readonly runsSubqueriesFirst = true;
  #chosen: Promise<PreparedQuery> | undefined;
  #rest: PreparedQuery | undefined;
  /** Ends the subqueries when nobody wants their statement any more. */
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  /** What the subqueries did that were run. */
  readonly #stats: Stats[] = [];

  /** `whole` has no slot yet. It runs where the subqueries cannot be run first. */
  constructor(
    private readonly whole: PreparedQuery,
    private readonly options: SubqueriesFirstOptions,
  ) {
    super(whole);
    this.columns = whole.columns;
    const { signal } = options.request;
    this.#signal = AbortSignal.any([this.#over.signal, ...signal === undefined ? [] : [signal]]);
  }

  get isOrdered(): boolean {
    return this.whole.isOrdered ?? false;
  }

  get storeBytes(): number {
    return this.whole.storeBytes ?? 0;
  }

  async explain(): Promise<string> {
    try {
      return await this.whole.explain();
    } finally {
      await this.options.leave();
    }
  }

  /** Runs the subqueries, too: what they give decides which slot the rest needs. */
  async turn(): Promise<void> {
    await (await this.#choose()).turn();
  }

  async run(): Promise<RunningQuery> {
    const chosen = await this.#choose();
    return withStatsOf(await chosen.run(), this.#stats, this.options.first.pin);
  }

  #choose(): Promise<PreparedQuery> {
    this.#chosen ??= this.#withFound();
    return this.#chosen;
  }

  /** The statement with what its subqueries gave, or as it is if none of them was run. */
  async #withFound(): Promise<PreparedQuery> {
    const { first, ask } = this.options;
    const queries = await ask((connection) => this.#queries(connection));
    const found: [FoundSubquery, readonly FoundColumn[]][] = [];
    // A query of WITH stands in all its places with the same rows.
    const ran = new Map<string, readonly FoundColumn[] | undefined>();
    const narrowed = new Set<TreeNode>();
    for (const { subquery, sql } of queries) {
      // One table of a join narrows the others.
      const select = subquery.place === "joined" ? subquery.equal.select : undefined;
      if (select !== undefined && narrowed.has(select)) continue;
      const key = `${subquery.place} ${sql}`;
      const columns = ran.has(key) ? ran.get(key) : await this.#columnsOf(subquery, sql);
      ran.set(key, columns);
      if (columns === undefined) continue;
      found.push([subquery, columns]);
      if (select !== undefined) narrowed.add(select);
    }
    if (found.length === 0) return await this.#asItIs();
    for (const [subquery, columns] of found) replaceSubquery(subquery, columns);
    removeUnnamed(first.root);
    const sql = await ask((connection) => textOfTree(connection, first.document));
    const rest = await this.#prepared({
      ...this.#requestOf(sql),
      subqueriesFirst: false,
      defaultOrder: this.defaultOrderApplied && this.options.request.defaultOrder,
    });
    if (rest !== undefined && this.#isAlike(rest)) {
      this.#rest = rest;
      return rest;
    }
    await rest?.[Symbol.asyncDispose]();
    return await this.#asItIs();
  }

  async #asItIs(): Promise<PreparedQuery> {
    const { request: { prepareParts, ...request }, leftMs } = this.options;
    if (prepareParts === undefined) return this.whole;
    const asked = { ...request, deadlineMs: leftMs(), signal: this.#signal };
    this.#rest = await prepareParts({ ...asked, subqueriesFirst: false });
    return this.#rest;
  }

  /** Whether it has the columns of the whole, whose names are made of texts of the statement. */
  #isAlike({ columns }: PreparedQuery): boolean {
    return this.columns.length === columns.length &&
      this.columns.every(({ name, type }, at) =>
        name === columns[at]?.name && type === columns[at]?.type
      );
  }

  /** The texts of the subqueries; none where the statement means something else each time. */
  async #queries(
    connection: EngineConnection,
  ): Promise<readonly { readonly subquery: FoundSubquery; readonly sql: string }[]> {
    const { first: { document, root, found, columns }, unixMs } = this.options;
    const word = await freezeMoment(root, {
      nowMs: unixMs(),
      columns,
      textOf: (select) => textAsItIs(connection, withRoot(document, select)),
    });
    if (word !== undefined) return [];
    return await Promise.all(found.map(async (subquery) => ({
      subquery,
      sql: await textOfTree(connection, withRoot(document, subquery.query)),
    })));
  }

  /** Runs a subquery. Undefined: it is run within the statement. */
  async #columnsOf(
    { place }: FoundSubquery,
    sql: string,
  ): Promise<readonly FoundColumn[] | undefined> {
    await using prepared = await this.#prepared({
      ...this.#requestOf(sql),
      // Where a LIMIT leaves open which rows it takes, the newest ones are found soonest.
      defaultOrder: "limited",
      rowsMax: FOUND_ROWS_MAX,
    });
    if (prepared === undefined || !areWritable(prepared, place)) return undefined;
    const share = prepared.cost.estimated_runtime_seconds / this.cost.estimated_runtime_seconds;
    if (share > this.options.shareMax && prepared.isOrdered !== true) return undefined;
    try {
      await using running = await prepared.run();
      const columns = await foundColumns(running, place);
      if (columns !== undefined) this.#stats.push(await running.stats());
      return columns;
    } catch (error) {
      // Whether the statement comes upon the value that fails, it tells itself.
      if (isOperatingError(error, "invalid_argument")) return undefined;
      throw error;
    }
  }

  /** Undefined: a part is no statement by itself, since it names something of what is around it. */
  async #prepared(request: QueryRequest): Promise<PreparedQuery | undefined> {
    try {
      return await this.options.prepare(request);
    } catch (error) {
      if (isOperatingError(error, "invalid_argument")) return undefined;
      throw error;
    }
  }

  /** Parameters have their values in the tree already. */
  #requestOf(sql: string): QueryRequest {
    const { first: { frozen }, request, leftMs } = this.options;
    const { parameters: _parameters, prepareParts: _prepareParts, ...asked } = request;
    return { ...asked, sql, frozen, deadlineMs: leftMs(), signal: this.#signal };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#rest === undefined) this.#over.abort();
    await this.#chosen?.catch(() => {});
    try {
      await this.#rest?.[Symbol.asyncDispose]();
    } finally {
      // It holds the tables that the parts read.
      await this.whole[Symbol.asyncDispose]();
    }
  }
}
