/** Statements around another one: what is told before they run is what the other one tells. */

import type {
  ColumnCounts,
  Cost,
  PlannedTable,
  PreparedQuery,
  ResultColumn,
  RunningQuery,
  ServedBy,
} from "../types.ts";

export abstract class StatementAround implements PreparedQuery {
  abstract readonly columns: readonly ResultColumn[];
  readonly cost: Cost;
  readonly tables: readonly PlannedTable[];
  readonly servedBy: ServedBy;
  readonly aside?: string;
  readonly columnCounts?: ColumnCounts;
  readonly defaultOrderApplied: boolean;

  constructor(inner: PreparedQuery) {
    const { cost, tables, servedBy, aside, columnCounts, defaultOrderApplied } = inner;
    this.cost = cost;
    this.tables = tables;
    this.servedBy = servedBy;
    if (aside !== undefined) this.aside = aside;
    if (columnCounts !== undefined) this.columnCounts = columnCounts;
    this.defaultOrderApplied = defaultOrderApplied;
  }

  abstract explain(): Promise<string>;
  abstract turn(): Promise<void>;
  abstract run(): Promise<RunningQuery>;
  abstract [Symbol.asyncDispose](): Promise<void>;
}
