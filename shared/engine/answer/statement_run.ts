/** A statement while it runs: its rows, step by step, and what it measured. */

import type { ArrowType } from "../arrow_fields.ts";
import { planRelations } from "../bind/statement_relations.ts";
import type { RunProfile, RunStatement, TextChunk } from "../duckdb/driver.ts";
import { faultError } from "../duckdb/fault_error.ts";
import type { SecondChance } from "../duckdb/once_more.ts";
import { breakOnRows, checkRowsScanned } from "../duckdb/rows_breaker.ts";
import { sumOfProfiles } from "../duckdb/run_profile.ts";
import type { StatementText } from "../duckdb/statement_text.ts";
import { jsonRowsOf } from "../json_rows/json_rows_of.ts";
import { SHORT_STEP_ROWS_MAX, UNLIMITED_ROWS_MIN, WHOLE_ROWS_MAX } from "../limits.ts";
import { countFiles, isRead, type Plan, planRows, scannedRows } from "../plan/plan.ts";
import { type AnswerPath, type Prepared, servedBy } from "../prepared.ts";
import { inCallersText } from "../statement/error_place.ts";
import type { Deadline } from "../turns/deadline.ts";
import type { Seat } from "../turns/seat.ts";
import type { TurnKind } from "../turns/turns.ts";
import type {
  PackedShape,
  ResultChunk,
  ResultColumn,
  RowShape,
  RunningQuery,
  RunProgress,
  Stats,
} from "../types.ts";
import { arrowSchemaMessage } from "./arrow_message.ts";
import { arrowSql } from "./arrow_sql.ts";
import { arrowFieldsOf, arrowTypeOf, flatTypeOf } from "./arrow_type.ts";
import { packedSql, packedTypes } from "./packed_sql.ts";
import { renderingSql, uniqueNames } from "./render.ts";
import { areCounted, countedRows } from "./counted_rows.ts";
import { broughtPlan, isReadByPages, type RunSteps } from "./run_steps.ts";
import type { AskedRows } from "./selected_sql.ts";
import { planBytes, statsOf } from "./stats.ts";

/**
 * A LIMIT of this size or more makes DuckDB scan on one thread to keep the order of rows,
 * at less than half the speed. A stream can do without, and a job: whoever takes its rows stops
 * taking. Records cannot, because their `stats` come from a run that ended by itself.
 */
function limitFor(shape: AnyShape, rowsMax: number): number | undefined {
  return shape !== "arrays" && rowsMax >= UNLIMITED_ROWS_MIN ? undefined : rowsMax + 1;
}

type AnyShape = RowShape | PackedShape;

export interface RunOptions {
  readonly seat: Seat;
  /** The kind of slot that it runs in. */
  readonly turn: TurnKind;
  readonly deadline: Deadline;
  readonly chance: SecondChance;
  /** The run yields one row more. */
  readonly rowsMax: number;
  /** Undefined: no limit while it runs. */
  readonly rowsScannedMax: number | undefined;
  readonly nowMs: () => number;
  readonly steps: RunSteps;
  /** Milliseconds spent on fetching what it reads first. */
  readonly bringMs: number;
}

/** The text that runs; `types`: of its columns, where its rows come as Arrow. */
function runText(
  text: string,
  shape: AnyShape,
  asked: AskedRows,
): StatementText & { readonly types?: readonly ArrowType[] } {
  const { columns } = asked;
  if (typeof shape === "object") {
    return { ...packedSql(text, { ...asked, shape }), types: packedTypes(columns, shape) };
  }
  if (shape !== "arrow" && shape !== "arrow_flat") return renderingSql(text, { ...asked, shape });
  const isFlat = shape === "arrow_flat";
  const typeOf = isFlat ? flatTypeOf : arrowTypeOf;
  return {
    ...arrowSql(text, { ...asked, isFlat }),
    types: columns.map(({ type }) => typeOf(type)),
  };
}

/** What a statement did that reads all rows of its plan. */
function plannedProfile(plan: Plan): RunProfile {
  const parts = plan.tables.flatMap((table) => table.parts);
  return { rowsScanned: scannedRows(plan), filesRead: countFiles(parts), spillBytes: 0 };
}

/** Whether all that a statement over one table reads was read (`files/few_rows/`). */
function isReadAlready({ tables }: Plan, path: AnswerPath): boolean {
  return path.kind === "scan" && path.bands !== undefined &&
    tables.every(({ parts }) => parts.length > 0 && parts.every(isRead));
}

/** What DuckDB measured, with what was read for it (`files/few_rows/`). */
function withReadRows(profile: RunProfile | undefined, plan: Plan): RunProfile | undefined {
  const tables = plan.tables.map(({ parts, ...table }) => ({
    ...table,
    parts: parts.filter(isRead),
  }));
  const parts = tables.flatMap((table) => table.parts);
  if (profile === undefined || parts.length === 0) return profile;
  return {
    ...profile,
    rowsScanned: profile.rowsScanned + planRows({ tables }),
    filesRead: profile.filesRead + countFiles(parts),
  };
}

/**
 * One run. Rows come as they are taken; where DuckDB's process ends before the first of them, they
 * come from the beginning on the next one. Errors: the deadline's, `too_large`, those of
 * `faultError`.
 */
export class StatementRun implements RunningQuery {
  readonly columns: readonly ResultColumn[];
  readonly approximation?: Readonly<object>;
  readonly #rowsPlanned: number;
  #collectMs: number;
  #renderMs = 0;
  #profile: RunProfile | undefined;
  /** What the steps before this one took. */
  readonly #before = { rows: 0, rowsPlanned: 0 };
  #bytesScanned = 0;
  /** What this step added to them. */
  #stepBytes = 0;
  /** Planned rows of this step. */
  #ahead = 0;
  /** Rows of this step that were written without DuckDB; undefined: DuckDB has them. */
  #writtenRows: number | undefined;

  constructor(private readonly prepared: Prepared, private readonly options: RunOptions) {
    this.columns = prepared.columns.map(({ name, type }) => ({ name, type: type.text }));
    const { path } = prepared;
    const approximation = path.kind === "scan" ? undefined : path.fast.approximation;
    if (approximation !== undefined) this.approximation = approximation;
    this.#collectMs = options.bringMs;
    this.#rowsPlanned = planRows(options.steps.whole);
  }

  chunks(shape: RowShape): AsyncIterable<ResultChunk> {
    return this.#chunks(shape);
  }

  packed(shape: PackedShape): AsyncIterable<ResultChunk> {
    return this.#chunks(shape);
  }

  async *#chunks(shape: AnyShape): AsyncGenerator<ResultChunk> {
    const { rowsMax, rowsScannedMax, deadline, steps } = this.options;
    if (rowsScannedMax !== undefined && !areCounted(this.prepared, shape)) {
      const rowsPlanned = this.prepared.cost.estimated_rows_processed;
      breakOnRows(this, deadline, { rowsScannedMax, rowsPlanned });
    }
    let left = Math.min(steps.rowsMax, rowsMax + 1);
    for await (const chunk of this.#steps(shape, () => left)) {
      const rowCount = Math.min(chunk.rowCount, left);
      left -= rowCount;
      if (rowCount > 0) yield { rowCount, bytes: (rows = rowCount) => chunk.bytes(rows) };
    }
  }

  /** Rows of one step after the other, as long as more are wanted. */
  async *#steps(shape: AnyShape, left: () => number): AsyncGenerator<ResultChunk> {
    const { steps: { first, brought, later }, nowMs } = this.options;
    yield* this.#rowsOnceMore(shape, { step: first, brought, left: left() });
    for (const step of later) {
      if (left() === 0) return;
      this.#before.rows += this.#stepProgress().rows;
      this.#before.rowsPlanned += this.#ahead;
      const startMs = nowMs();
      const brought = await broughtPlan(this.prepared, step);
      this.#collectMs += nowMs() - startMs;
      yield* this.#rowsOnceMore(shape, { step, brought, left: left() });
    }
  }

  /**
   * Where its process ends before its first row, from the beginning on the next one: what lay in
   * memory is gone there.
   */
  async *#rowsOnceMore(
    shape: AnyShape,
    { step, brought, left }: {
      readonly step: Plan;
      readonly brought: Plan;
      readonly left: number;
    },
  ): AsyncGenerator<ResultChunk> {
    const { seat, turn, chance } = this.options;
    try {
      for await (const chunk of this.#rows(shape, brought, left)) {
        chance.forgo();
        yield chunk;
      }
    } catch (error) {
      if (!chance.takes(error)) throw error;
      this.#bytesScanned -= this.#stepBytes;
      await seat.takeAnew(turn);
      yield* this.#rows(shape, await broughtPlan(this.prepared, step), left);
    }
  }

  async *#rows(shape: AnyShape, step: Plan, left: number): AsyncGenerator<ResultChunk> {
    const { seat, deadline, nowMs } = this.options;
    const { connection } = seat;
    this.#ahead = planRows(step);
    this.#stepBytes = 0;
    const written = await this.#written(shape, step, left);
    this.#writtenRows = written && 0;
    const isLeft = written === undefined && isReadByPages(this.prepared, step);
    const plan = isLeft ? await this.prepared.data.bring(step) : step;
    this.#stepBytes = planBytes(plan);
    this.#bytesScanned += this.#stepBytes;
    const isInMemory = this.prepared.isMeasured && isReadAlready(plan, this.prepared.path);
    const isKnown = isInMemory || this.#isSmall(plan);
    const isMeasured = this.prepared.isMeasured && !isKnown;
    let rows: AsyncIterator<TextChunk> | undefined = written;
    let linesBefore = 0;
    try {
      if (rows === undefined) {
        // Rows of a scan may take more than memory has.
        const mayBeWhole = !isMeasured && (isInMemory || !isKnown);
        const asked = await this.#runOf(shape, plan, { left, isMeasured, mayBeWhole });
        const { linesBefore: before, ...run } = asked;
        linesBefore = before;
        rows = connection.rows(run)[Symbol.asyncIterator]();
      }
      for (;;) {
        const startMs = nowMs();
        const next = await rows.next();
        this.#collectMs += nowMs() - startMs;
        // An interrupted stream may just end.
        deadline.check();
        if (next.done === true) break;
        if (this.#writtenRows !== undefined) this.#writtenRows += next.value.rowCount;
        seat.pause();
        yield this.#timed(next.value);
        await seat.resume();
      }
    } catch (error) {
      deadline.check();
      const told = await inCallersText(error, this.prepared.statement, connection);
      throw faultError(told, { linesBefore });
    } finally {
      await rows?.return?.();
    }
    // Measuring takes a third of what such a statement does, and it tells little more.
    const profile = isKnown || written !== undefined
      ? plannedProfile(plan)
      : withReadRows(await connection.profile(), plan);
    this.#profile = sumOfProfiles(this.#profile, profile);
    checkRowsScanned(this.#profile, this.options);
  }

  /** What DuckDB runs for a step. */
  async #runOf(
    shape: AnyShape,
    plan: Plan,
    { left, isMeasured, mayBeWhole }: {
      readonly left: number;
      readonly isMeasured: boolean;
      readonly mayBeWhole: boolean;
    },
  ): Promise<RunStatement & Pick<StatementText, "linesBefore">> {
    const { prepared, options: { seat, rowsMax } } = this;
    const values: string[] = [];
    const limit = limitFor(shape, rowsMax);
    const { sql, linesBefore, types } = runText(await prepared.text(seat.connection), shape, {
      relations: planRelations(prepared, plan, (text) => `$${values.push(text)}::VARCHAR`),
      columns: prepared.columns,
      rowsMax: limit,
    });
    const arrow = types === undefined ? {} : { arrow: { types, rowsMax: left } };
    const isWhole = mayBeWhole && (limit ?? Infinity) <= WHOLE_ROWS_MAX;
    const isShort = isMeasured && this.#isShort();
    return { sql, linesBefore, values, isMeasured, isWhole, isShort, ...arrow };
  }

  /** The rows where they are written here; undefined: DuckDB has them. */
  async #written(
    shape: AnyShape,
    plan: Plan,
    left: number,
  ): Promise<AsyncGenerator<TextChunk> | undefined> {
    const { rowsScannedMax, nowMs } = this.options;
    const counted = countedRows(this.prepared, shape, left);
    if (counted !== undefined) return counted;
    if (typeof shape === "object" || scannedRows(plan) > (rowsScannedMax ?? Infinity)) return;
    return await jsonRowsOf(this.prepared, { plan, shape, rowsMax: left, nowMs });
  }

  /** Whether few row groups are read, by a statement that is planned in no time. */
  #isShort(): boolean {
    const { path } = this.prepared;
    return path.kind === "scan" && path.bands !== undefined && this.#ahead <= SHORT_STEP_ROWS_MAX;
  }

  /** Whether the plan tells enough of the run. What may exceed the caller's limit is measured. */
  #isSmall(plan: Plan): boolean {
    const { isMeasured, isSmall } = this.prepared;
    return isMeasured && isSmall && scannedRows(plan) <= (this.options.rowsScannedMax ?? Infinity);
  }

  arrowSchema(names?: readonly string[]): Uint8Array<ArrayBuffer> {
    const { columns } = this.prepared;
    const own = names ?? uniqueNames(columns.map(({ name }) => name));
    return arrowSchemaMessage(arrowFieldsOf(columns, own));
  }

  progress(): RunProgress {
    const { rows, percent } = this.#stepProgress();
    const planned = this.#rowsPlanned;
    return {
      rows: this.#before.rows + rows,
      percent: percent === undefined || this.options.steps.later.length === 0 || planned === 0
        ? percent
        : (100 * this.#before.rowsPlanned + percent * this.#ahead) / planned,
    };
  }

  #stepProgress(): RunProgress {
    const rows = this.#writtenRows;
    if (rows === undefined) return this.options.seat.progress();
    return { rows, percent: Math.min(100, 100 * rows / Math.max(1, this.#ahead)) };
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
    return Promise.resolve(statsOf(this.options.steps.whole, {
      profile: this.#profile,
      bytesScanned: this.#bytesScanned,
      ordering: this.prepared.ordering,
      reads: this.prepared.data.reads,
      decoded: this.prepared.data.decoded,
      servedBy: servedBy(this.prepared.path),
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
