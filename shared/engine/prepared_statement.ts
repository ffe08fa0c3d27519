/** A prepared statement behind the engine's contract: priced, explained, run once, disposed. */

import { assert } from "../base/assert.ts";
import { EXPLAIN_COLUMNS, explainedPlan, ExplainRun } from "./answer/explain_run.ts";
import { firstStep, type RunSteps } from "./answer/run_steps.ts";
import { type RunOptions, StatementRun } from "./answer/statement_run.ts";
import { faultError } from "./duckdb/fault_error.ts";
import { onceMore } from "./duckdb/once_more.ts";
import { plannedTable } from "./plan/planned_table.ts";
import { type Prepared, servedBy } from "./prepared.ts";
import type {
  ColumnCounts,
  Cost,
  PlannedTable,
  PreparedQuery,
  ResultColumn,
  RunningQuery,
  ServedBy,
} from "./types.ts";

/** Owns the statement's seat, deadline and leases until it is disposed of. */
export class PreparedStatement implements PreparedQuery {
  readonly columns: readonly ResultColumn[];
  readonly cost: Cost;
  readonly tables: readonly PlannedTable[];
  readonly servedBy: ServedBy;
  readonly aside?: string;
  readonly columnCounts?: ColumnCounts;
  readonly defaultOrderApplied: boolean;
  #started = false;
  #disposed = false;

  constructor(
    private readonly prepared: Prepared,
    private readonly options: Omit<RunOptions, "steps" | "bringMs">,
  ) {
    const { cost, path, defaultOrderApplied, plan, columnCounts } = prepared;
    if (columnCounts !== undefined) this.columnCounts = columnCounts;
    this.columns = columnsOf(prepared);
    this.cost = cost;
    this.servedBy = servedBy(path);
    if (path.kind === "scan") this.aside = path.aside;
    this.defaultOrderApplied = defaultOrderApplied;
    this.tables = plan.tables.map(plannedTable);
  }

  get isOrdered(): boolean {
    const { path, ordering } = this.prepared;
    return ordering === "advertised" || (path.kind === "scan" && path.trial !== undefined);
  }

  get storeBytes(): number {
    return this.prepared.data.missingBytes(this.prepared.plan);
  }

  async explain(): Promise<string> {
    const { seat, deadline, chance } = this.options;
    const explain = async () => {
      const connection = await seat.take("light");
      return await explainedPlan(this.prepared, { connection, deadline });
    };
    try {
      return await onceMore(explain, { chance, again: () => seat.leave() });
    } catch (error) {
      deadline.check();
      throw error;
    }
  }

  async turn(): Promise<void> {
    const { seat, turn } = this.options;
    await seat.take(turn);
  }

  async run(): Promise<RunningQuery> {
    assert(!this.#started, "a prepared statement runs once");
    this.#started = true;
    await this.turn();
    const { prepared, options } = this;
    if (prepared.statement.explain) return new ExplainRun(() => this.explain(), prepared);
    const { nowMs, chance, seat, turn } = options;
    const startMs = nowMs();
    const steps = await onceMore(() => this.#firstStep(), {
      chance,
      again: async () => void await seat.takeAnew(turn),
    });
    return new StatementRun(prepared, { ...options, steps, bringMs: nowMs() - startMs });
  }

  async #firstStep(): Promise<RunSteps> {
    const { seat, deadline } = this.options;
    try {
      return await firstStep(this.prepared, seat.connection);
    } catch (error) {
      deadline.check();
      throw faultError(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    const { seat, deadline } = this.options;
    deadline[Symbol.dispose]();
    try {
      await seat[Symbol.asyncDispose]();
    } finally {
      this.prepared.leases.dispose();
    }
  }
}

/** An explained statement's answer is one text. */
function columnsOf({ statement, columns }: Prepared): readonly ResultColumn[] {
  if (statement.explain) return EXPLAIN_COLUMNS;
  return columns.map(({ name, type }) => ({ name, type: type.text }));
}
