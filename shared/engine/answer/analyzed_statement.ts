/**
 * `EXPLAIN ANALYZE` of a statement: it runs to its end, its rows are dropped, and what was measured
 * of it are the rows of the answer. They have what `cost` and `stats` of an answer have, and what
 * `EXPLAIN` says.
 */

import { quoteText } from "../duckdb/statement_text.ts";
import type {
  PreparedQuery,
  ResultChunk,
  ResultColumn,
  RowShape,
  RunningQuery,
  RunProgress,
  Stats,
} from "../types.ts";
import { StatementAround } from "./statement_around.ts";

/** A row of the answer: what was measured, the value, and its unit or empty. */
type Measured = readonly [name: string, value: string, unit: string];

const COLUMNS: readonly ResultColumn[] = ["name", "value", "unit"].map((name) => (
  { name, type: "VARCHAR" }
));

/** Prepares the statement that gives rows which are at hand. */
type PrepareRows = (sql: string) => Promise<PreparedQuery>;

/** A statement that is measured instead of answered. */
export class AnalyzedStatement extends StatementAround {
  readonly columns = COLUMNS;
  #rows: PreparedQuery | undefined;
  /** What subqueries took that ran before the statement got its slot. */
  #firstMs = 0;

  constructor(
    private readonly measured: PreparedQuery,
    private readonly prepareRows: PrepareRows,
    private readonly nowMs: () => number,
  ) {
    super(measured);
  }

  explain(): Promise<string> {
    return this.measured.explain();
  }

  async turn(): Promise<void> {
    const startMs = this.nowMs();
    await this.measured.turn();
    if (this.measured.runsSubqueriesFirst === true) this.#firstMs += this.nowMs() - startMs;
  }

  async run(): Promise<RunningQuery> {
    const plan = await this.measured.explain();
    const startMs = this.nowMs();
    const { rows, stats } = await this.#measure();
    const tookMs = this.nowMs() - startMs + this.#firstMs;
    // Its slot is another statement's from here on.
    await this.measured[Symbol.asyncDispose]();
    const measured = [
      ...measuredOf(this.measured, stats, { rows, tookMs }),
      ...plan.trimEnd().split("\n").map((line): Measured => ["plan", line, ""]),
    ];
    this.#rows = await this.prepareRows(rowsSql(measured));
    return new MeasuredRun(await this.#rows.run(), stats);
  }

  async #measure(): Promise<{ readonly rows: number; readonly stats: Stats }> {
    await using running = await this.measured.run();
    let rows = 0;
    for await (const { rowCount } of running.chunks("arrays")) rows += rowCount;
    return { rows, stats: await running.stats() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.measured[Symbol.asyncDispose]();
    await this.#rows?.[Symbol.asyncDispose]();
  }
}

/** The rows of what was measured. Their own run is of no interest to anybody. */
class MeasuredRun implements RunningQuery {
  readonly columns = COLUMNS;

  constructor(private readonly rows: RunningQuery, private readonly measured: Stats) {}

  chunks(shape: RowShape): AsyncIterable<ResultChunk> {
    return this.rows.chunks(shape);
  }

  arrowSchema(): Uint8Array<ArrayBuffer> {
    return this.rows.arrowSchema();
  }

  progress(): RunProgress {
    return this.rows.progress();
  }

  stats(): Promise<Stats> {
    return Promise.resolve(this.measured);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rows[Symbol.asyncDispose]();
  }
}

function measuredOf(
  { cost, tables, servedBy, aside, defaultOrderApplied }: PreparedQuery,
  { phases, scan = {}, ...stats }: Omit<Stats, "scan"> & { readonly scan?: object },
  { rows, tookMs }: { readonly rows: number; readonly tookMs: number },
): readonly Measured[] {
  const { warnings, ...estimated } = cost;
  const of = (group: string, members: object): Measured[] =>
    Object.entries(members).map(([name, value]) => [
      `${group}${name}`,
      String(value),
      unitOf(name),
    ]);
  return [
    ["served_by", servedBy, ""],
    ...aside === undefined ? [] : [["no_fast_path", aside, ""] as const],
    ["rows", String(rows), "rows"],
    ["run_micros", String(Math.round(tookMs * 1_000)), "microseconds"],
    ...of("", phases),
    ...of("", { ...stats, served_by: stats.served_by }).filter(([name]) => name !== "served_by"),
    ...of("scan.", scan),
    ...of("cost.", estimated),
    ...warnings.map((warning): Measured => ["cost.warning", warning, ""]),
    ...tables.map(({ table, files, snapshot_id }): Measured => [
      `table ${table}`,
      `snapshot ${snapshot_id ?? "none"}, ${files} files`,
      "",
    ]),
    ["default_order_applied", String(defaultOrderApplied), ""],
  ];
}

/** The unit that the name of a member ends with, or says. */
function unitOf(name: string): string {
  if (name.endsWith("_micros")) return "microseconds";
  if (name.endsWith("_seconds")) return "seconds";
  if (name.includes("bytes")) return "bytes";
  if (name.startsWith("row_groups")) return "row groups";
  if (name.startsWith("files")) return "files";
  return name.includes("rows") ? "rows" : "";
}

function rowsSql(rows: readonly Measured[]): string {
  const [first = "", second = "", third = ""] = COLUMNS.map((_, at) =>
    `unnest([${rows.map((row) => quoteText(row[at] ?? "")).join(", ")}])`
  );
  return `SELECT ${first} AS name, ${second} AS value, ${third} AS unit`;
}
