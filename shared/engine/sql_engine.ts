/** The engine while it is open: one database, a connection per statement. */

import { OperatingError } from "../base/errors.ts";
import { Deadline } from "./deadline.ts";
import { isDear } from "./cost.ts";
import { type EngineConnection, type EngineDatabase, EngineFault } from "./driver.ts";
import { MEMORY_SQL, memoryUse } from "./memory_use.ts";
import { faultError } from "./fault_error.ts";
import { type PrepareDeps, prepareStatement } from "./prepare.ts";
import { PreparedStatement } from "./prepared_statement.ts";
import { checkPredicate } from "./check_predicate.ts";
import { Seat } from "./seat.ts";
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
  readonly database: EngineDatabase;
  readonly turns: Turns;
  /** A connection of its own for `ping` and `memory`, so that a busy engine is not taken for a dead one. */
  readonly probe: EngineConnection;
  readonly prepare: PrepareDeps;
  /** Work of its own while it is open. */
  readonly works: readonly (Disposable | AsyncDisposable)[];
  readonly memoryBytesMax: number;
  readonly spillBytesMax: number;
}

const PROBE_MS_MAX = 5_000;

export class SqlEngine implements Engine {
  readonly #database: EngineDatabase;
  readonly #turns: Turns;
  readonly #probe: EngineConnection;
  readonly #deps: PrepareDeps;
  readonly #works: readonly (Disposable | AsyncDisposable)[];
  readonly #poolBytesMax: number;
  readonly #spillBytesMax: number;
  /** The last use of the probe: the next one waits for it, as an interrupt would hit either. */
  #probing: Promise<unknown> = Promise.resolve();

  constructor(options: SqlEngineOptions) {
    this.#database = options.database;
    this.#turns = options.turns;
    this.#probe = options.probe;
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
    return this.#onProbe(async (probe) => {
      await probe.texts("SELECT 1");
      await this.#deps.catalog.ping();
    });
  }

  memory(): Promise<MemoryUse> {
    return this.#onProbe(async (probe) => ({
      ...memoryUse(await probe.texts(MEMORY_SQL)),
      poolBytesMax: this.#poolBytesMax,
      spillBytesMax: this.#spillBytesMax,
    }));
  }

  async close(): Promise<void> {
    this.#turns.close(new OperatingError("unavailable", "The SQL engine is closed"));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => this.#database.close());
    for (const work of this.#works) stack.use(work);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #seat(
    { tenant, waitMs }: { readonly tenant: string; readonly waitMs?: TurnWaits },
    deadline: Deadline,
  ): Seat {
    return new Seat({ database: this.#database, turns: this.#turns, deadline, tenant, waitMs });
  }

  #onProbe<T>(use: (probe: EngineConnection) => Promise<T>): Promise<T> {
    const used = this.#probing.then(async () => {
      using deadline = new Deadline(PROBE_MS_MAX);
      deadline.watch(this.#probe);
      for (;;) {
        try {
          return await use(this.#probe);
        } catch (error) {
          deadline.check();
          if (!isFullPool(error)) throw faultError(error);
        }
        await new Promise((resolve) => setTimeout(resolve, FULL_POOL_RETRY_MS));
      }
    });
    this.#probing = used.catch(() => {});
    return used;
  }
}

function turnKind({ batch }: QueryRequest, cost: Cost): TurnKind {
  if (batch === true) return "batch";
  return isDear(cost) ? "dear" : "light";
}

/** While statements fill the pool to the brim even the probe finds no room: that passes, and is no failure. */
function isFullPool(error: unknown): boolean {
  return error instanceof EngineFault && error.kind === "memory";
}

const FULL_POOL_RETRY_MS = 20;
