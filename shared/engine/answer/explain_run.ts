/** `EXPLAIN` of a statement: which path answers, and DuckDB's plan. */

import { utf8 } from "../../base/bytes.ts";
import { planRelations } from "../bind/statement_relations.ts";
import { isDear } from "../cost/cost.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { faultError, withoutPaths } from "../duckdb/fault_error.ts";
import { statementText } from "../duckdb/statement_text.ts";
import { type AnswerPath, type Prepared, servedBy } from "../prepared.ts";
import { FOUND_ROWS_MAX } from "../subqueries/found_columns.ts";
import type { Deadline } from "../turns/deadline.ts";
import type {
  ResultChunk,
  ResultColumn,
  RowShape,
  RunningQuery,
  RunProgress,
  Stats,
  TextShape,
} from "../types.ts";
import { sparedReads } from "../spared/spared_reads.ts";
import { jsonReads } from "./json_reads.ts";
import { arrowSchemaMessage, arrowTextMessage } from "./arrow_message.ts";
import { ROW_ENDS } from "./render.ts";
import { statsOf } from "./stats.ts";

/**
 * The physical plan as text. Before it a line says which path answers, or why none does. Other
 * lines say where attributes are looked up in JSON, and words in texts.
 */
export async function explainedPlan(
  prepared: Prepared,
  { connection, deadline }: {
    readonly connection: EngineConnection;
    readonly deadline: Deadline;
  },
): Promise<string> {
  const { sql, linesBefore } = statementText(await prepared.text(connection), {
    relations: planRelations(prepared, prepared.plan),
    wrap: (from) => `SELECT * FROM ${from}`,
  });
  try {
    await prepared.data.name(prepared.plan);
    const text = await connection.explain(sql);
    deadline.check();
    return [
      pathLine(prepared.path),
      ...firstLine(prepared),
      ...jsonReads(prepared),
      ...sparedReads(prepared.plan.tables),
      withoutPaths(text),
    ].join("\n");
  } catch (error) {
    throw faultError(error, { linesBefore });
  }
}

/** Who answers, and from what, or why no fast path does. */
function pathLine(path: AnswerPath): string {
  const reads = path.kind === "scan" ? `no fast path, because ${path.aside}` : path.fast.reads();
  return `${servedBy(path)}: ${reads}`;
}

/** What is run before an expensive statement. */
function firstLine({ first, cost }: Prepared): readonly string[] {
  if (first === undefined || !isDear(cost)) return [];
  const what = first.found.length === 1 ? "one subquery" : `${first.found.length} subqueries`;
  return [`${what} first: up to ${FOUND_ROWS_MAX} rows take the place of each`];
}

/** What the answer of an EXPLAIN has. */
export const EXPLAIN_COLUMNS: readonly ResultColumn[] = [{ name: "plan", type: "VARCHAR" }];

/** `EXPLAIN SELECT …`: one row that holds the physical plan. */
export class ExplainRun implements RunningQuery {
  readonly columns: readonly ResultColumn[] = EXPLAIN_COLUMNS;

  constructor(
    private readonly explain: () => Promise<string>,
    private readonly prepared: Prepared,
  ) {}

  progress(): RunProgress {
    return { rows: 0, percent: undefined };
  }

  async *chunks(shape: RowShape): AsyncGenerator<ResultChunk> {
    const plan = await this.explain();
    const row = shape === "arrow" || shape === "arrow_flat"
      ? arrowTextMessage(plan)
      : utf8(planText(plan, shape) + ROW_ENDS[shape]);
    yield { rowCount: 1, bytes: (rows = 1) => row.subarray(0, rows * row.byteLength) };
  }

  arrowSchema(): Uint8Array<ArrayBuffer> {
    return arrowSchemaMessage([{ name: "plan", type: { kind: "utf8" } }]);
  }

  stats(): Promise<Stats> {
    const { planMs, deltaMs, ordering, path } = this.prepared;
    return Promise.resolve(statsOf({ tables: [] }, {
      profile: undefined,
      bytesScanned: 0,
      ordering,
      reads: undefined,
      servedBy: servedBy(path),
      pin: undefined,
      phases: {
        plan_micros: Math.round(planMs * 1000),
        buffer_delta_micros: Math.round(deltaMs * 1000),
        collect_micros: 0,
        render_micros: 0,
      },
    }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

function planText(plan: string, shape: TextShape): string {
  if (shape === "csv") return `"${plan.replaceAll('"', '""')}"`;
  return JSON.stringify(shape === "objects" ? { plan } : [plan]);
}
