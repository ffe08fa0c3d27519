/** A prepared statement behind the engine's contract: priced, explained, run once, disposed. */

import { shownName } from "./hot_caches/hot_call.ts";
import { assert } from "../base/assert.ts";
import { utf8 } from "../base/bytes.ts";
import type { Deadline } from "./turns/deadline.ts";
import type { RunProfile, TextChunk } from "./duckdb/driver.ts";
import type { Seat } from "./turns/seat.ts";
import type { TurnKind } from "./turns/turns.ts";
import { inCallersText } from "./statement/error_place.ts";
import { isNearestHeld, withHeld } from "./held_rows/held_plan.ts";
import { sumOfProfiles } from "./duckdb/run_profile.ts";
import { faultError, withoutPaths } from "./duckdb/fault_error.ts";
import type { Prepared } from "./prepare.ts";
import { countFiles, type Plan } from "./plan/plan.ts";
import { UNLIMITED_ROWS_MIN, WHOLE_ROWS_MAX } from "./limits.ts";
import { breakOnRows, checkRowsScanned } from "./duckdb/rows_breaker.ts";
import { renderingSql, ROW_ENDS } from "./answer/render.ts";
import { onceMore, type SecondChance } from "./duckdb/once_more.ts";
import { type StatementText, statementText } from "./duckdb/statement_text.ts";
import { planBytes, planRows, statsOf } from "./answer/stats.ts";
import type {
  Cost,
  PlannedTable,
  PreparedQuery,
  ResultChunk,
  ResultColumn,
  RowShape,
  RunningQuery,
  RunProgress,
  ServedBy,
  Stats,
} from "./types.ts";

export interface StatementOptions {
  readonly seat: Seat;
  /** What it runs in. */
  readonly turn: TurnKind;
  readonly deadline: Deadline;
  readonly chance: SecondChance;
  /** The run yields one row more. */
  readonly rowsMax: number;
  /** Default: no limit while it runs. */
  readonly rowsScannedMax: number | undefined;
  readonly nowMs: () => number;
}

export class PreparedStatement implements PreparedQuery {
  readonly cost: Cost;
  readonly tables: readonly PlannedTable[];
  readonly servedBy: ServedBy;
  readonly aside?: string;
  readonly defaultOrderApplied: boolean;
  #started = false;
  #disposed = false;

  constructor(private readonly prepared: Prepared, private readonly options: StatementOptions) {
    this.cost = prepared.cost;
    this.servedBy = prepared.servedBy;
    if (prepared.aside !== undefined) this.aside = prepared.aside;
    this.defaultOrderApplied = prepared.defaultOrderApplied;
    this.tables = prepared.plan.tables.map((table) => ({
      table: shownName(table.name),
      snapshot_id: table.version?.snapshotId === undefined
        ? null
        : String(table.version.snapshotId),
      ...(table.committed.kind === "since" ? { since: String(table.committed.snapshotId) } : {}),
      files: countFiles(table.parts.filter((part) => part.origin === "file")),
      ...(table.pruned === undefined ? {} : {
        files_pruned_bloom: table.pruned.files,
        row_groups_pruned_bloom: table.pruned.rowGroups,
      }),
    }));
  }

  async explain(): Promise<string> {
    const { seat, deadline, chance } = this.options;
    try {
      return await onceMore(() => this.#explain(), { chance, again: () => seat.leave() });
    } catch (error) {
      deadline.check();
      throw error;
    }
  }

  async #explain(): Promise<string> {
    const { seat, deadline, turn } = this.options;
    const { data, held, plan } = this.prepared;
    const connection = await seat.take("light");
    const exchanged = (turn === "light" ? held?.(plan, { wants: false }) : undefined) ??
      { rest: plan, held: [] };
    const { sql, linesBefore } = explainedText(this.prepared, withHeld(exchanged.rest, exchanged));
    try {
      await data.name(exchanged.rest);
      const text = await connection.explain(sql);
      deadline.check();
      return `${pathLine(this.prepared)}\n${withoutPaths(text)}`;
    } catch (error) {
      throw faultError(error, { linesBefore });
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
    if (this.prepared.explain) return new ExplainRun(this, this.prepared);
    const { nowMs, chance, seat, turn } = this.options;
    const startMs = nowMs();
    const { brought, ...steps } = await onceMore(() => this.#firstStep(), {
      chance,
      again: async () => void await seat.takeAnew(turn),
    });
    const plan = steps.later.length === 0 ? brought : steps.plan;
    return new StatementRun({ ...this.prepared, plan }, {
      ...this.options,
      steps: { ...steps, brought },
      bringMs: nowMs() - startMs,
    });
  }

  /** What is read first is there. */
  async #firstStep() {
    const { seat, deadline, turn } = this.options;
    try {
      const plan = await this.prepared.narrowed(seat.connection);
      const { plans: [first = plan, ...later], rowsMax } = this.prepared.steps(plan);
      const brought = await broughtFor(this.prepared, first, turn);
      return { plan, first, brought, later, rowsMax };
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
      for (const lease of this.prepared.leases) lease[Symbol.dispose]();
    }
  }
}

/** Who answers, and from what, or why no fast path does. */
function pathLine({ servedBy, reads, aside }: Prepared): string {
  return `${servedBy}: ${reads ?? `no fast path, because ${aside}`}`;
}

function explainedText({ sql, relations }: Prepared, plan: Plan): StatementText {
  return statementText(sql, {
    relations: relations(plan),
    wrap: (from) => `SELECT * FROM ${from}`,
  });
}

/**
 * A LIMIT of this size or more makes DuckDB scan on one thread to keep the order of rows,
 * at less than half the speed. A stream can do without, and a job: whoever takes its rows stops
 * taking. Records cannot, because their `stats` come from a run that ended by itself.
 */
function limitFor(shape: RowShape, rowsMax: number): number | undefined {
  return shape !== "arrays" && rowsMax >= UNLIMITED_ROWS_MIN ? undefined : rowsMax + 1;
}

interface RunOptions extends StatementOptions {
  readonly steps: {
    readonly first: Plan;
    /** `first` with its files: they are there. */
    readonly brought: Plan;
    /** What is read after it, unless there are `rowsMax` rows before. */
    readonly later: readonly Plan[];
    readonly rowsMax: number;
  };
  /** Spent on fetching what it reads first. */
  readonly bringMs: number;
}

/** The plan to scan. Rows are in memory in the DuckDB of cheap statements alone. */
async function broughtFor({ data, held }: Prepared, plan: Plan, turn: TurnKind): Promise<Plan> {
  if (held === undefined || turn !== "light") return await data.bring(plan);
  const exchanged = held(plan, { wants: true });
  return withHeld(await data.bring(exchanged.rest), exchanged);
}

/** Of a statement over rows in memory. */
function heldProfile(plan: Plan): RunProfile {
  const parts = plan.tables.flatMap((table) => table.parts);
  return { rowsScanned: planRows(plan), filesRead: countFiles(parts), spillBytes: 0 };
}

class StatementRun implements RunningQuery {
  readonly columns: readonly ResultColumn[];
  readonly approximation?: Readonly<object>;
  readonly #rowsPlanned: number;
  #collectMs: number;
  #renderMs = 0;
  #profile: RunProfile | undefined;
  /** Of the steps before this one. */
  readonly #before = { rows: 0, rowsPlanned: 0 };
  #bytesScanned = 0;
  /** Planned rows of this step. */
  #ahead = 0;

  constructor(private readonly prepared: Prepared, private readonly options: RunOptions) {
    this.columns = prepared.columns.map(({ name, type }) => ({ name, type: type.text }));
    if (prepared.approximation !== undefined) this.approximation = prepared.approximation;
    this.#collectMs = options.bringMs;
    this.#rowsPlanned = planRows(prepared.plan);
  }

  async *chunks(shape: RowShape): AsyncGenerator<ResultChunk> {
    const { rowsMax, rowsScannedMax, deadline, steps } = this.options;
    if (rowsScannedMax !== undefined) {
      const rowsPlanned = this.prepared.cost.estimated_rows_processed;
      breakOnRows(this, deadline, { rowsScannedMax, rowsPlanned });
    }
    let left = Math.min(steps.rowsMax, rowsMax + 1);
    for await (const chunk of this.#steps(shape, () => left > 0)) {
      const rowCount = Math.min(chunk.rowCount, left);
      left -= rowCount;
      if (rowCount > 0) yield { rowCount, bytes: (rows = rowCount) => chunk.bytes(rows) };
    }
  }

  /** Rows of one step after the other, as long as more are wanted. */
  async *#steps(shape: RowShape, wantsMore: () => boolean): AsyncGenerator<ResultChunk> {
    const { steps: { first, brought, later }, nowMs } = this.options;
    yield* this.#rowsOnceMore(shape, { step: first, brought });
    for (const step of later) {
      if (!wantsMore()) return;
      this.#before.rows += this.options.seat.progress().rows;
      this.#before.rowsPlanned += this.#ahead;
      const startMs = nowMs();
      const brought = await this.#broughtFor(step);
      this.#collectMs += nowMs() - startMs;
      yield* this.#rowsOnceMore(shape, { step, brought });
    }
  }

  #broughtFor(step: Plan): Promise<Plan> {
    return broughtFor(this.prepared, step, this.options.turn);
  }

  /**
   * Where its process ends before its first row, from the beginning on the next one: what lay in
   * memory is gone there.
   */
  async *#rowsOnceMore(
    shape: RowShape,
    { step, brought }: { readonly step: Plan; readonly brought: Plan },
  ): AsyncGenerator<ResultChunk> {
    const { seat, turn, chance } = this.options;
    try {
      for await (const chunk of this.#rows(shape, brought)) {
        chance.forgo();
        yield chunk;
      }
    } catch (error) {
      if (!chance.takes(error)) throw error;
      this.#bytesScanned -= planBytes(brought);
      await seat.takeAnew(turn);
      yield* this.#rows(shape, await this.#broughtFor(step));
    }
  }

  async *#rows(shape: RowShape, plan: Plan): AsyncGenerator<ResultChunk> {
    const { seat, deadline, rowsMax, nowMs } = this.options;
    const { connection } = seat;
    const { relations, columns } = this.prepared;
    this.#ahead = planRows(plan);
    this.#bytesScanned += planBytes(plan);
    const isInMemory = this.prepared.isMeasured && isNearestHeld(plan);
    const isMeasured = this.prepared.isMeasured && !isInMemory;
    const values: string[] = [];
    const limit = limitFor(shape, rowsMax);
    const { sql, linesBefore } = renderingSql(this.prepared.sql, {
      relations: relations(plan, (text) => `$${values.push(text)}::VARCHAR`),
      columns,
      shape,
      rowsMax: limit,
    });
    const isWhole = !isMeasured && (limit ?? Infinity) <= WHOLE_ROWS_MAX;
    const rows = connection.rows({ sql, values, isMeasured, isWhole })[Symbol.asyncIterator]();
    try {
      for (;;) {
        const startMs = nowMs();
        const next = await rows.next();
        this.#collectMs += nowMs() - startMs;
        // An interrupted stream may just end.
        deadline.check();
        if (next.done === true) break;
        seat.pause();
        yield this.#timed(next.value);
        await seat.resume();
      }
    } catch (error) {
      deadline.check();
      const told = await inCallersText(error, this.prepared.statement, connection);
      throw faultError(told, { linesBefore });
    } finally {
      await rows.return?.();
    }
    // Measuring takes a third of what such a statement does, and it tells no more: it reads all
    // rows of its plan.
    const profile = isInMemory ? heldProfile(plan) : await connection.profile();
    this.#profile = sumOfProfiles(this.#profile, profile);
    checkRowsScanned(this.#profile, this.options);
  }

  progress(): RunProgress {
    const { rows, percent } = this.options.seat.progress();
    const planned = this.#rowsPlanned;
    return {
      rows: this.#before.rows + rows,
      percent: percent === undefined || this.options.steps.later.length === 0 || planned === 0
        ? percent
        : (100 * this.#before.rowsPlanned + percent * this.#ahead) / planned,
    };
  }

  /** The chunk, with the time that bringing its bytes takes counted. */
  #timed(chunk: TextChunk): ResultChunk {
    return {
      rowCount: chunk.rowCount,
      bytes: (rows) => {
        const startMs = this.options.nowMs();
        const bytes = chunk.bytes(rows);
        this.#renderMs += this.options.nowMs() - startMs;
        return bytes;
      },
    };
  }

  stats(): Promise<Stats> {
    const micros = (ms: number) => Math.round(ms * 1000);
    return Promise.resolve(statsOf(this.prepared.plan, {
      profile: this.#profile,
      bytesScanned: this.#bytesScanned,
      ordering: this.prepared.ordering,
      reads: this.prepared.data.reads,
      decoded: this.prepared.data.decoded,
      servedBy: this.prepared.servedBy,
      pin: this.prepared.pin,
      phases: {
        plan_micros: micros(this.prepared.planMs),
        buffer_delta_micros: micros(this.prepared.deltaMs),
        collect_micros: micros(this.#collectMs),
        render_micros: micros(this.#renderMs),
      },
    }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** `EXPLAIN SELECT …`: one row that holds the physical plan. */
class ExplainRun implements RunningQuery {
  readonly columns: readonly ResultColumn[] = [{ name: "plan", type: "VARCHAR" }];

  constructor(
    private readonly statement: PreparedStatement,
    private readonly prepared: Prepared,
  ) {}

  progress(): RunProgress {
    return { rows: 0, percent: undefined };
  }

  async *chunks(shape: RowShape): AsyncGenerator<ResultChunk> {
    const plan = await this.statement.explain();
    const row = utf8(JSON.stringify(shape === "objects" ? { plan } : [plan]) + ROW_ENDS[shape]);
    yield { rowCount: 1, bytes: (rows = 1) => row.subarray(0, rows * row.byteLength) };
  }

  stats(): Promise<Stats> {
    const { planMs, deltaMs, ordering, servedBy } = this.prepared;
    return Promise.resolve(statsOf({ tables: [] }, {
      profile: undefined,
      bytesScanned: 0,
      ordering,
      reads: undefined,
      servedBy,
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
