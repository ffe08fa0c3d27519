/**
 * The way into the fast paths: whether a statement is answered from summaries, and what then
 * replaces its table. README.md says which statements can be, and what each `served_by` means.
 */

import { counted } from "../../base/counted.ts";
import { type Column, columnOf } from "../../schema/schema.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import type { DataFileLease } from "../files/data_files.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import type { TableReference } from "../gate/gate.ts";
import { countFiles, type ScanPart, type TablePlan } from "../plan/plan.ts";
import { storedColumnsOf } from "../plan/projection.ts";
import type { AttributeValues } from "../plan/promoted_attributes.ts";
import { relationSql } from "../bind/relation.ts";
import type { BindText } from "../duckdb/statement_text.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import type { TreeNode } from "../statement/syntax_tree.ts";
import { exactRange, type TimeBounds } from "../bounds/time_bounds.ts";
import type { ServedBy } from "../types.ts";
import { untilAborted } from "../../base/until_aborted.ts";
import { type CountedAnswer, countedAnswer } from "./counted_answer.ts";
import type { EdgeTimes } from "./edge_times.ts";
import type { TableAnswers } from "./table_answers.ts";
import type { OwnRows } from "./own_rows.ts";
import type { StepAside } from "./step_aside.ts";
import { ROWS_MAX, type WeightedAside, type WeightedPlan, weightedPlan } from "./weighted_plan.ts";
import { ownRowsSql, rowsSql } from "./weighted_relation.ts";
import { type WeightedStatement, weightedStatement } from "./weighted_statement.ts";
import { wideRelationSql } from "./wide_relation.ts";
import { fastCondition, wordConditions } from "./word_conditions.ts";

export interface FastPath {
  readonly servedBy: ServedBy;
  /** Tells what is read, in words for people. */
  readonly reads: () => string;
  /** The statement over weighted rows. */
  readonly root: TreeNode;
  /** What is read of the table itself. */
  readonly parts: readonly ScanPart[];
  /** Columns that are read of the table itself. */
  readonly projected: readonly Column[];
  /** Holds what the relation reads besides the table, until the statement has ended. */
  readonly lease: Disposable;
  /** Bounds of counts that are not exact. */
  readonly approximation: Approximation | undefined;
  /** The answer, where DuckDB has nothing to add to the counts of summaries. */
  readonly counted: CountedAnswer | undefined;
  /**
   * What stands for the table, given the plan after its files were brought and what is to stand for
   * texts.
   */
  readonly relation: (table: TablePlan, bind: BindText) => string;
}

/**
 * `approximation` of docs/api/query.md#records-answer: the true count of a listed value lies
 * between its count and that count plus so many.
 */
export interface Approximation {
  readonly kind: "heavy_hitters";
  readonly count_error_max: number;
}

export interface FastPathSource {
  readonly connection: Pick<EngineConnection, "texts">;
  readonly cached: CachedConnection;
  /** The values of the constants of its time bounds. */
  readonly micros: TimeBounds["micros"];
  readonly answers: TableAnswers;
  readonly times: EdgeTimes;
  /** `isExact` of the `QueryRequest`. */
  readonly isExact: boolean;
  /** Whether the statement will not run. */
  readonly planOnly: boolean;
  readonly data: Pick<DataFileLease, "path" | "footer" | "store">;
  readonly signal: AbortSignal;
}

/** The path that answers, or why none does. */
export async function fastPath(
  root: TreeNode,
  { references, tables, values }: {
    readonly references: readonly TableReference[];
    readonly tables: readonly TablePlan[];
    readonly values: AttributeValues;
  },
  { connection, cached, micros, answers, times, isExact, planOnly, data, signal }: FastPathSource,
): Promise<FastPath | StepAside> {
  const [reference] = references;
  const [table] = tables;
  if (reference === undefined || table === undefined || references.length > 1) {
    return { aside: "it does not read one table once" };
  }
  if (reference.hot !== undefined) return { aside: `it calls ${reference.hot.kind}` };
  const { schema, made, stemmed } = table;
  const conditions = wordConditions(root, {
    table: reference.node,
    columns: schema.columns,
    stemmed,
  });
  const asked = weightedStatement(root, {
    table: reference.node,
    ...{ schema, made, values: new Map([...values, ...conditions]) },
  });
  if ("aside" in asked) return asked;
  const range = exactRange(asked.bounds, { table: reference.node, micros });
  if (range === undefined) return { aside: "a bound of its time has no value" };
  const planning = weightedPlan(asked, range, {
    table,
    cubes: answers.table(table.version?.uuid ?? "", data.store),
    filesIn: (wanted: TimeRange) => filesIn(table, wanted),
    path: (file) => data.path(file),
    footer: (file) => data.footer(file),
    averages: answers.averages,
    ...{ connection, times, signal, isExact, planOnly },
  });
  const plan = await untilAborted(planning, signal, disposeOf);
  const wantMissed = () => {
    const { edgesMissed = [] } = plan;
    if (planOnly || edgesMissed.length === 0) return;
    times.want(edgesMissed, columnOf(table.schema, "timestamp"));
  };
  if ("aside" in plan) {
    wantMissed();
    return plan;
  }
  if (plan.rows.weights.length > ROWS_MAX) {
    disposeOf(plan);
    return { aside: `its answer is made of ${plan.rows.weights.length} counts` };
  }
  const statement = plan.own.length === 0 ? asked : await withFastConditions(asked, cached);
  const own = ownColumns(statement, { table, range });
  return {
    servedBy: servedBy(statement, plan),
    reads: () => readsOf(plan),
    lease: {
      [Symbol.dispose]() {
        disposeOf(plan);
        wantMissed();
      },
    },
    approximation: approximationOf(plan),
    counted: plan.own.length > 0 || plan.wide !== undefined
      ? undefined
      : countedAnswer(statement, plan.rows),
    root: statement.root,
    parts: [
      ...new Map(plan.own.flatMap(({ parts }) => parts).map((part) => [partName(part), part]))
        .values(),
    ],
    projected: storedColumnsOf(table, own),
    relation: (brought, bind) => relationOf(statement, plan, { brought, bind, columns: own }),
  };
}

/** The statement with conditions on words that are fast to evaluate for the table's own rows. */
async function withFastConditions(
  statement: WeightedStatement,
  cached: CachedConnection,
): Promise<WeightedStatement> {
  const ownValues = new Map(statement.ownValues);
  const { filter } = statement;
  for (const { name, words } of statement.columns) {
    const rest = ownValues.get(name);
    if (words === undefined || rest === undefined) continue;
    ownValues.set(name, { ...rest, sql: await fastCondition(rest.sql, cached) });
  }
  return {
    ...statement,
    ownValues,
    filter: filter && { ...filter, sql: await fastCondition(filter.sql, cached) },
  };
}

function filesIn({ committed }: TablePlan, range: TimeRange): Promise<readonly DataFile[]> {
  return "filesIn" in committed ? committed.filesIn(range) : Promise.resolve([]);
}

function disposeOf(plan: WeightedPlan | WeightedAside): void {
  if ("wide" in plan) plan.wide?.[Symbol.dispose]();
}

function approximationOf({ wide }: WeightedPlan): Approximation | undefined {
  const { errorMax = 0 } = wide ?? {};
  return errorMax === 0 ? undefined : { kind: "heavy_hitters", count_error_max: errorMax };
}

function servedBy(
  { minutes }: WeightedStatement,
  { filesWithout, cutDays, isWide, wide }: WeightedPlan,
): ServedBy {
  if (wide !== undefined && wide.errorMax > 0) return "sketch";
  if (filesWithout > 0) return "materialized";
  if (isWide) return "tier1_wide";
  return minutes || cutDays > 0 ? "tier1_windowed_agg" : "tier1_inline";
}

function readsOf(
  { rows, own, edgesCounted, filesWithout, segmentsCounted, wide }: WeightedPlan,
): string {
  const parts = own.flatMap((one) => one.parts);
  const [segments, files] = [
    parts.filter(({ origin }) => origin === "delta").length,
    countFiles(parts.filter(({ origin }) => origin === "file")),
  ];
  const ofValues = [...wide?.parts ?? [], ...(wide?.sum === undefined ? [] : [wide.sum.file])]
    .reduce((sum, { entries }) => sum + entries, 0);
  const weights = rows.weights.length + ofValues;
  const { pending = 0 } = wide ?? {};
  return `${counted(weights, "count")} of summaries, ` +
    (pending === 0 ? "" : `those of ${counted(pending, "more file")} when it runs, `) +
    `rows of ${counted(files, "file")}, ${filesWithout} of them without a usable summary, ` +
    `and of ${counted(segments, "piece")} of the WAL` +
    (segmentsCounted === 0 ? "" : `; ${counted(segmentsCounted, "segment")} of it counted`) +
    (edgesCounted === 0 ? "" : `; ${counted(edgesCounted, "cut minute")} counted in memory`);
}

function relationOf(
  statement: WeightedStatement,
  plan: WeightedPlan,
  { brought, bind, columns }: {
    readonly brought: TablePlan;
    readonly bind: BindText;
    /** Columns of the table's own rows. */
    readonly columns: readonly Column[];
  },
): string {
  const table = { ...brought, schema: { ...brought.schema, columns } };
  const own = plan.own.map((own) =>
    ownRowsSql(statement, {
      relation: relationSql(partsOf(table, own)),
      ranges: own.ranges,
      areFilled: own.areFilled,
    })
  );
  const [column] = statement.columns;
  if (plan.wide === undefined || column === undefined) {
    return [rowsSql(statement, plan.rows, bind), ...own].join(" UNION ALL ");
  }
  const few = plan.rows.weights.length === 0 ? [] : [rowsSql(statement, plan.rows, bind)];
  return wideRelationSql(column, plan.wide, { others: [...few, ...own], top: statement.top });
}

/** Bringing files may have narrowed parts that were whole. Only columns that are read are left. */
function partsOf(table: TablePlan, { parts }: OwnRows): TablePlan {
  const ranged = new Set(parts.filter(({ range }) => range !== undefined).map(partName));
  const whole = new Set(parts.filter(({ range }) => range === undefined).map(({ path }) => path));
  return {
    ...table,
    parts: table.parts.filter((part) => whole.has(part.path) || ranged.has(partName(part))),
  };
}

function partName({ path, range }: ScanPart): string {
  return JSON.stringify([path, range?.first, range?.end]);
}

/** The columns that are read of the table's own rows; at least one. */
function ownColumns(
  { columns, measures, minutes, unneeded, ownValues, filter }: WeightedStatement,
  { table, range }: { readonly table: TablePlan; readonly range: TimeRange },
): readonly Column[] {
  const isBounded = range.minNs !== undefined || range.maxNs !== undefined;
  const read = new Set(
    [
      ...[...columns, ...unneeded, ...measures.map(({ column }) => column)],
      ...ownValues.values().map(({ column }) => column),
      ...filter === undefined ? [] : [filter.column],
    ].map(({ name }) => name),
  );
  const own = table.schema.columns.filter(({ name }) =>
    read.has(name) || (name === "timestamp" && (minutes || isBounded)) ||
    (name === "timestamp_ns" && isBounded)
  );
  return own.length > 0 ? own : table.schema.columns.slice(0, 1);
}
