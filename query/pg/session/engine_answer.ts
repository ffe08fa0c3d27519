/**
 * One statement in the engine for a session: a `SqlCall`, as a request over HTTP is one, and its
 * rows as far as the client asked for them.
 */

import { OperatingError } from "../../../shared/base/errors.ts";
import type {
  PackedShape,
  Parameters,
  QueryRequest,
  ResultChunk,
  ResultColumn,
} from "../../../shared/engine/types.ts";
import { type EffectiveLimits, effectiveLimits, fileTier } from "../../limits.ts";
import type { QueryCaller } from "../../query_caller.ts";
import { type CallRequest, SqlCall } from "../../sql/sql_call.ts";
import type { SqlService } from "../../sql/sql_service.ts";
import { pgError } from "../sqlstate.ts";

/** What a session's statements need of the server. */
export type PgCallService = Pick<SqlService, "rowsCeiling" | "stallMsMax"> & CallServiceOf;
type CallServiceOf = ConstructorParameters<typeof SqlCall>[0];

/** A statement as a session asks it. */
export interface AskedStatement {
  readonly caller: QueryCaller;
  readonly sql: string;
  readonly parameters: Parameters;
  readonly besides: Partial<QueryRequest>;
  readonly timeoutMs: number | undefined;
  /** The client's `application_name`; "" for none. */
  readonly application: string;
}

/** Rows of a batch: from `from` to before `to` of the batch's. */
export interface AnsweredRows {
  readonly message: Uint8Array<ArrayBuffer>;
  /** Whether they came as was asked; else in the shape `arrow_flat`. */
  readonly isPacked: boolean;
  readonly from: number;
  readonly to: number;
}

/** For fewer rows a simpler statement is quicker. */
const PACKED_ROWS_MIN = 2_048;

/** A statement that was planned. Disposing it stops it and gives everything back. */
export class EngineAnswer implements AsyncDisposable {
  #chunks: AsyncIterator<ResultChunk> | undefined;
  /** The batch of which rows are left. */
  #rest:
    | { readonly message: Uint8Array<ArrayBuffer>; readonly rows: number; from: number }
    | undefined;
  #isPacked = false;
  #rowsSent = 0;
  #isOver = false;
  #stalling: ReturnType<typeof setTimeout> | undefined;

  private constructor(private readonly call: SqlCall, private readonly stallMsMax: number) {}

  /** `onStop` is told how to stop it before it waits for anything. */
  static async prepare(
    service: PgCallService,
    asked: AskedStatement,
    onStop: (stop: (reason: OperatingError) => void) => void,
  ): Promise<EngineAnswer> {
    const { caller, besides, application } = asked;
    const call = new SqlCall(service, {
      caller,
      endpoint: "pg",
      besides,
      ...(application === "" ? {} : { application }),
    });
    onStop((reason) => call.stop(reason));
    try {
      await call.prepare(callRequest(asked), limitsOf(service, asked));
      return new EngineAnswer(call, service.stallMsMax);
    } catch (thrown) {
      throw await endedWith(call, thrown);
    }
  }

  get columns(): readonly ResultColumn[] {
    return this.call.prepared.columns;
  }

  /** Whether rows were asked of it. */
  get isRunning(): boolean {
    return this.#chunks !== undefined;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * The next rows, at most `max`; undefined: there are no more. `packed`: how they are wanted if
   * they are many, at each call the same. Errors: those of the call; `too_large` past the rows that
   * an answer may have.
   */
  async next(max: number, packed?: PackedShape): Promise<AnsweredRows | undefined> {
    if (this.#isOver) return undefined;
    clearTimeout(this.#stalling);
    try {
      return await this.#next(max, packed);
    } catch (thrown) {
      this.#isOver = true;
      throw await endedWith(this.call, thrown);
    }
  }

  /** Stops it; its next rows fail with `reason`. */
  stop(reason: OperatingError): void {
    this.call.stop(reason);
  }

  /** A client that asks for none of the rest for too long is one that takes nothing. */
  pause(): void {
    clearTimeout(this.#stalling);
    if (!this.#isOver) this.#stalling = setTimeout(() => this.stall(), this.stallMsMax);
  }

  /** Gives the client up, which has taken nothing for the time that it may. */
  stall(): void {
    this.call.stall(this.stallMsMax);
    this.call[Symbol.asyncDispose]().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#stalling);
    if (!this.#isOver && this.isRunning) this.call.end("ok", { rowsReturned: this.#rowsSent });
    this.#isOver = true;
    this.#rest = undefined;
    await this.#chunks?.return?.();
    await this.call[Symbol.asyncDispose]();
  }

  async #next(max: number, packed?: PackedShape): Promise<AnsweredRows | undefined> {
    this.#chunks ??= await this.#run(packed);
    if (this.#rest === undefined) {
      this.call.throwIfStopped();
      const next = await this.#chunks.next();
      this.call.throwIfStopped();
      if (next.done === true) return await this.#end();
      this.#rest = { message: next.value.bytes(), rows: next.value.rowCount, from: 0 };
    }
    const { message, rows, from } = this.#rest;
    const { rowsReturnedMax } = this.call.limits;
    const left = rowsReturnedMax - this.#rowsSent;
    if (left === 0) throw this.#tooMany(rowsReturnedMax);
    const to = Math.min(rows, from + max, from + left);
    this.#rowsSent += to - from;
    if (to === rows) this.#rest = undefined;
    else this.#rest.from = to;
    return { message, isPacked: this.#isPacked, from, to };
  }

  async #run(shape: PackedShape | undefined): Promise<AsyncIterator<ResultChunk>> {
    const running = await this.call.run();
    const isLarge = this.call.prepared.cost.estimated_rows_processed >= PACKED_ROWS_MIN;
    const packed = shape === undefined || !isLarge ? undefined : running.packed?.(shape);
    this.#isPacked = packed !== undefined;
    return (packed ?? running.chunks("arrow_flat"))[Symbol.asyncIterator]();
  }

  async #end(): Promise<undefined> {
    this.#isOver = true;
    this.call.end("ok", { rowsReturned: this.#rowsSent });
    await this.call[Symbol.asyncDispose]();
  }

  /** No client of the protocol looks whether an answer was cut. */
  #tooMany(rowsMax: number): OperatingError {
    this.call.end("truncated", { rowsReturned: this.#rowsSent });
    return pgError("54000", `Cannot send more than ${rowsMax} rows of an answer`, {
      code: "too_large",
      hint: "Add a LIMIT, aggregate, or ask for a batch job over HTTP.",
    });
  }
}

/** What a statement would answer, and DuckDB's types of its parameters; nothing runs. */
export async function describeInEngine<T>(
  service: PgCallService,
  asked: AskedStatement,
  describe: (call: SqlCall, request: CallRequest, limits: EffectiveLimits) => Promise<T>,
): Promise<T> {
  const { caller, besides } = asked;
  const call = new SqlCall(service, { caller, endpoint: "pg", besides, isPart: true });
  try {
    const told = await describe(call, callRequest(asked), limitsOf(service, asked));
    call.end("ok");
    return told;
  } catch (thrown) {
    throw await endedWith(call, thrown);
  } finally {
    await call[Symbol.asyncDispose]();
  }
}

async function endedWith(call: SqlCall, thrown: unknown): Promise<unknown> {
  const failure = call.failureOf(thrown);
  call.endWith(failure);
  await call[Symbol.asyncDispose]();
  return failure;
}

/** An answer is for programs: no limit of rows is assumed that the client did not write. */
function limitsOf({ rowsCeiling }: PgCallService, { timeoutMs }: AskedStatement): EffectiveLimits {
  const asked = timeoutMs === undefined ? {} : { timeout_seconds: timeoutMs / 1_000 };
  return effectiveLimits(asked, fileTier(rowsCeiling));
}

function callRequest({ sql, parameters }: AskedStatement): CallRequest {
  return {
    query: sql,
    parameters: Object.keys(parameters).length === 0 ? null : parameters,
    format: "pg",
    priority: "interactive",
    default_order: true,
    exact: true,
    dry_run: false,
    types: false,
  };
}
