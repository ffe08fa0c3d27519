/** The engine while it is open: a database, or one more for dear statements, a connection per statement. */

import { OperatingError } from "../base/errors.ts";
import { Deadline } from "./deadline.ts";
import { isDear } from "./cost.ts";
import { MEMORY_SQL, memoryUse } from "./memory_use.ts";
import { faultError } from "./fault_error.ts";
import { type PrepareDeps, prepareStatement } from "./prepare.ts";
import { PreparedStatement } from "./prepared_statement.ts";
import { checkPredicate } from "./check_predicate.ts";
import type { Probe } from "./probe.ts";
import { type Databases, Seat } from "./seat.ts";
import type { TurnKind, Turns } from "./turns.ts";
import type {
  CheckedPredicate,
  Cost,
  Engine,
  MemoryUse,
  PredicateRequest,
  PreparedQuery,
  QueryRequest,
  StatementsWaiting,
  TurnWaits,
} from "./types.ts";

export interface SqlEngineOptions {
  readonly databases: Databases;
  readonly turns: Turns;
  /** Of each database, that of light statements first. */
  readonly probes: readonly [Probe, ...Probe[]];
  readonly prepare: PrepareDeps;
  /** Work of its own while it is open. */
  readonly works: readonly (Disposable | AsyncDisposable)[];
  readonly memoryBytesMax: number;
  readonly spillBytesMax: number;
}

export class SqlEngine implements Engine {
  readonly #databases: Databases;
  readonly #turns: Turns;
  readonly #probes: readonly [Probe, ...Probe[]];
  readonly #deps: PrepareDeps;
  readonly #works: readonly (Disposable | AsyncDisposable)[];
  readonly #poolBytesMax: number;
  readonly #spillBytesMax: number;

  constructor(options: SqlEngineOptions) {
    this.#databases = options.databases;
    this.#turns = options.turns;
    this.#probes = options.probes;
    this.#deps = options.prepare;
    this.#works = options.works;
    this.#poolBytesMax = options.memoryBytesMax;
    this.#spillBytesMax = options.spillBytesMax;
  }

  async prepare(request: QueryRequest): Promise<PreparedQuery> {
    const deadline = new Deadline(request.deadlineMs, request.signal);
    const seat = this.#seat(request, deadline);
    try {
      const connection = await seat.take("light");
      const prepared = await prepareStatement(connection, request, { deps: this.#deps, deadline });
      const turn = prepared.explain ? "light" : turnKind(request, prepared.cost);
      if (turn !== "light") await seat.leave();
      return new PreparedStatement(prepared, {
        seat,
        turn,
        deadline,
        rowsMax: request.rowsMax,
        rowsScannedMax: request.rowsScannedMax,
        nowMs: this.#deps.nowMs,
      });
    } catch (error) {
      const reason = deadline.signal.aborted ? deadline.signal.reason : faultError(error);
      deadline[Symbol.dispose]();
      await seat[Symbol.asyncDispose]();
      throw reason;
    }
  }

  async checkPredicate(request: PredicateRequest): Promise<CheckedPredicate> {
    using deadline = new Deadline(request.deadlineMs, request.signal);
    await using seat = this.#seat(request, deadline);
    try {
      const connection = await seat.take("light");
      return await checkPredicate(connection, request, { deps: this.#deps, deadline });
    } catch (error) {
      throw deadline.signal.aborted ? deadline.signal.reason : error;
    }
  }

  waiting(): StatementsWaiting {
    return {
      light: this.#turns.waiting("light"),
      dear: this.#turns.waiting("dear"),
      batch: this.#turns.waiting("batch"),
    };
  }

  ping(): Promise<void> {
    return this.#probes[0].ask(async (connection) => {
      await connection.texts("SELECT 1");
      await this.#deps.catalog.ping();
    });
  }

  async memory(): Promise<MemoryUse> {
    const rows = await Promise.all(
      this.#probes.map((probe) => probe.ask((connection) => connection.texts(MEMORY_SQL))),
    );
    return {
      ...memoryUse(rows.flat()),
      poolBytesMax: this.#poolBytesMax,
      spillBytesMax: this.#spillBytesMax,
    };
  }

  async close(): Promise<void> {
    this.#turns.close(new OperatingError("unavailable", "The SQL engine is closed"));
    await using stack = new AsyncDisposableStack();
    for (const database of new Set(Object.values(this.#databases))) {
      stack.defer(() => database.close());
    }
    for (const work of this.#works) stack.use(work);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #seat(
    { tenant, waitMs }: { readonly tenant: string; readonly waitMs?: TurnWaits },
    deadline: Deadline,
  ): Seat {
    return new Seat({ databases: this.#databases, turns: this.#turns, deadline, tenant, waitMs });
  }
}

function turnKind({ batch }: QueryRequest, cost: Cost): TurnKind {
  if (batch === true) return "batch";
  return isDear(cost) ? "dear" : "light";
}
