/**
 * The engine while it is open: a database, or one more for expensive statements, a connection per
 * statement.
 */

import { getLogger } from "@logtape/logtape";
import { isLeftOut } from "../base/damaged_file.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import { AnalyzedStatement } from "./answer/analyzed_statement.ts";
import { Deadline } from "./turns/deadline.ts";
import { isDear } from "./cost/cost.ts";
import { MEMORY_SQL, memoryUse } from "./duckdb/memory_use.ts";
import { faultError } from "./duckdb/fault_error.ts";
import type { EngineConnection, EngineDatabase } from "./duckdb/driver.ts";
import { DAMAGED_ATTEMPTS_MAX, OVERDUE_MS_MAX } from "./limits.ts";
import { onceMore, SecondChance } from "./duckdb/once_more.ts";
import type { TableFollowers } from "./follow/table_follower.ts";
import { parameterTypes } from "./parameter_types.ts";
import { type PrepareDeps, prepareRewritten, prepareStatement } from "./prepare.ts";
import type { Prepared } from "./prepared.ts";
import { PreparedStatement } from "./prepared_statement.ts";
import { checkPredicate } from "./predicate/check_predicate.ts";
import type { ReceivedRows, ReceivedSpace } from "./shards/received_rows.ts";
import type { NotShared, Spread, SpreadingEngine } from "./shards/spread.ts";
import { spreadStatement } from "./shards/spread_statement.ts";
import type { PlannedSubqueries } from "./subqueries/first_subqueries.ts";
import { FIRST_POLICY, type FirstPolicy, SubqueriesFirst } from "./subqueries/subqueries_first.ts";
import type { LivenessProbe } from "./duckdb/liveness_probe.ts";
import { type Databases, Seat } from "./turns/seat.ts";
import { SlotLender } from "./turns/slot_lender.ts";
import { TURN_KINDS, type TurnCounts, type TurnKind, type Turns } from "./turns/turns.ts";
import type {
  CheckedPredicate,
  Cost,
  Engine,
  FollowedTable,
  MemoryUse,
  PredicateRequest,
  PreparedQuery,
  QueryRequest,
  StatementsWaiting,
  TableFollower,
  TurnWaits,
} from "./types.ts";

const log = getLogger(["svc", "engine"]);

export interface SqlEngineOptions {
  readonly databases: Databases;
  readonly turns: Turns;
  readonly turnCounts: TurnCounts;
  /** One for each database, that of cheap statements first. */
  readonly probes: readonly [LivenessProbe, ...LivenessProbe[]];
  readonly prepare: PrepareDeps;
  /** Work of its own while it is open. */
  readonly works: readonly (Disposable | AsyncDisposable)[];
  readonly memoryBytesMax: number;
  readonly spillBytesMax: number;
  readonly followers: TableFollowers;
  readonly received: ReceivedSpace;
  /** Default: `FIRST_POLICY`. */
  readonly subqueriesFirst?: FirstPolicy | undefined;
  /** Unix milliseconds. */
  readonly unixMs: () => number;
}

/** Who takes a seat, and for which statement. */
interface SeatRequest {
  readonly tenant: string;
  readonly waitMs?: TurnWaits;
  readonly sql: string;
}

/** A statement's own while it is planned. */
interface Seated {
  readonly seat: Seat;
  readonly deadline: Deadline;
  readonly chance: SecondChance;
}

export class SqlEngine implements Engine, SpreadingEngine {
  readonly #databases: Databases;
  /** Each of the databases once. */
  readonly #open: ReadonlySet<EngineDatabase>;
  readonly #turns: Turns;
  readonly #turnCounts: TurnCounts;
  /** The seats of statements that are not over. */
  readonly #seats = new Set<Seat>();
  readonly #lender: SlotLender;
  readonly #probes: readonly [LivenessProbe, ...LivenessProbe[]];
  readonly #deps: PrepareDeps;
  readonly #works: readonly (Disposable | AsyncDisposable)[];
  readonly #poolBytesMax: number;
  readonly #spillBytesMax: number;
  readonly #followers: TableFollowers;
  readonly #received: ReceivedSpace;
  readonly #subqueriesFirst: FirstPolicy;
  readonly #unixMs: () => number;

  constructor(options: SqlEngineOptions) {
    this.#databases = options.databases;
    this.#open = new Set([options.databases.light, options.databases.dear]);
    this.#turns = options.turns;
    this.#lender = new SlotLender(options.turns, this.#seats);
    this.#turnCounts = options.turnCounts;
    this.#probes = options.probes;
    this.#deps = options.prepare;
    this.#works = options.works;
    this.#poolBytesMax = options.memoryBytesMax;
    this.#spillBytesMax = options.spillBytesMax;
    this.#followers = options.followers;
    this.#received = options.received;
    this.#subqueriesFirst = options.subqueriesFirst ?? FIRST_POLICY;
    this.#unixMs = options.unixMs;
  }

  get residentBytes(): readonly number[] {
    return [...this.#open].flatMap(({ residentBytes: bytes }) =>
      bytes === undefined ? [] : [bytes]
    );
  }

  get isIdle(): boolean {
    return this.#seats.size === 0;
  }

  async prepare(request: QueryRequest): Promise<PreparedQuery> {
    return await this.#withoutDamaged(request, (own) => this.#prepare(own));
  }

  async spread(request: QueryRequest): Promise<Spread | NotShared> {
    return await this.#withoutDamaged(request, (own) => this.#spread(own));
  }

  /** Plans once more where a damaged file is left out from now on. */
  async #withoutDamaged<T>(
    request: QueryRequest,
    plan: (request: QueryRequest) => Promise<T>,
  ): Promise<T> {
    const endMs = this.#deps.nowMs() + request.deadlineMs;
    for (let attempt = 1;; attempt += 1) {
      try {
        return await plan({ ...request, deadlineMs: endMs - this.#deps.nowMs() });
      } catch (error) {
        if (!isLeftOut(error) || attempt === DAMAGED_ATTEMPTS_MAX) throw error;
      }
    }
  }

  async #prepare(request: QueryRequest): Promise<PreparedQuery> {
    return await this.#seated(request, async (seated) => {
      const prepared = await onLight(
        seated,
        (connection, { deadline }) =>
          prepareStatement(connection, request, { deps: this.#deps, deadline }),
      );
      return await this.#statement(prepared, request, seated);
    });
  }

  async #spread(request: QueryRequest): Promise<Spread | NotShared> {
    return await this.#seated(request, async (seated) => {
      const context = {
        ...{ request, deps: this.#deps, prepare: prepareRewritten, unixMs: this.#unixMs() },
      };
      const spread = await onLight(
        seated,
        (connection, { deadline }) => spreadStatement(connection, { ...context, deadline }),
      );
      if ("prepared" in spread) {
        const { reason, prepared } = spread;
        return { reason, alone: await this.#statement(prepared, request, seated) };
      }
      await seated.seat[Symbol.asyncDispose]();
      seated.deadline[Symbol.dispose]();
      return spread;
    });
  }

  /** A statement that can run, and has its seat from now on. */
  async #statement(
    prepared: Prepared,
    request: QueryRequest,
    { seat, deadline, chance }: Seated,
  ): Promise<PreparedQuery> {
    using leases = prepared.leases;
    const turn = prepared.statement.explain ? "light" : turnKind(request, prepared.cost);
    if (turn !== "light") await seat.leave();
    const { first, cost } = prepared;
    const whole = new PreparedStatement({ ...prepared, leases: leases.move() }, {
      seat,
      turn,
      deadline,
      chance,
      rowsMax: request.rowsMax,
      rowsScannedMax: request.rowsScannedMax,
      nowMs: this.#deps.nowMs,
    });
    const { secsMin } = this.#subqueriesFirst;
    const isFirst = first !== undefined && cost.estimated_runtime_seconds > secsMin &&
      !prepared.statement.explain && maySplit(request);
    // It holds no slot while its subqueries have theirs.
    if (isFirst) await seat.leave();
    const statement = isFirst
      ? this.#withSubqueries(whole, first, { request, seat, deadline })
      : whole;
    return prepared.statement.analyze ? this.#analyzed(statement, request) : statement;
  }

  #withSubqueries(
    whole: PreparedStatement,
    first: PlannedSubqueries,
    { request, seat, deadline }: Omit<Seated, "chance"> & { readonly request: QueryRequest },
  ): PreparedQuery {
    return new SubqueriesFirst(whole, {
      first,
      shareMax: this.#subqueriesFirst.shareMax,
      request,
      prepare: request.prepareParts ?? ((part) => this.prepare(part)),
      ask: (ask) => this.#asked(request, deadline, ask),
      leave: () => seat.leave(),
      leftMs: () => deadline.leftMs,
      unixMs: this.#unixMs,
    });
  }

  /** Plans a statement in a seat of its own, which is given back where that fails. */
  async #seated<T>(request: QueryRequest, plan: (seated: Seated) => Promise<T>): Promise<T> {
    const deadline = new Deadline(request.deadlineMs, request.signal);
    const seat = this.#seat(request, deadline);
    const chance = new SecondChance(deadline);
    if (request.isBegunAnew === true) chance.forgo();
    try {
      return await plan({ seat, deadline, chance });
    } catch (error) {
      const reason = deadline.signal.aborted
        ? deadline.signal.reason
        // Damage of metadata is noted here; nobody else sees it.
        : this.#deps.damaged.noted(faultError(error));
      deadline[Symbol.dispose]();
      await seat[Symbol.asyncDispose]().catch((fault) => {
        log.warn("cannot give a connection back: {error}", { error: messageOf(fault) });
      });
      throw reason;
    }
  }

  async parameterTypes(request: QueryRequest): Promise<ReadonlyMap<string, string | null>> {
    using deadline = new Deadline(request.deadlineMs, request.signal);
    return await this.#asked(
      request,
      deadline,
      (connection) => parameterTypes(connection, request, { deps: this.#deps, deadline }),
    );
  }

  #analyzed(statement: PreparedQuery, request: QueryRequest): PreparedQuery {
    const { namespace, tenant, deadlineMs, waitMs, signal, batch } = request;
    const prepareRows = (sql: string) =>
      this.prepare({
        ...{ sql, namespace, tenant, deadlineMs, defaultOrder: false, rowsMax: MEASURED_ROWS_MAX },
        ...(waitMs === undefined ? {} : { waitMs }),
        ...(signal === undefined ? {} : { signal }),
        ...(batch === undefined ? {} : { batch }),
      });
    return new AnalyzedStatement(statement, prepareRows, this.#deps.nowMs);
  }

  receive(): Promise<ReceivedRows> {
    return this.#received.open();
  }

  async checkPredicate(request: PredicateRequest): Promise<CheckedPredicate> {
    using deadline = new Deadline(request.deadlineMs, request.signal);
    return await this.#asked(
      { ...request, sql: request.predicate },
      deadline,
      (connection) => checkPredicate(connection, request, { deps: this.#deps, deadline }),
    );
  }

  /** Asks a connection something about a statement, in a slot of its own. */
  async #asked<T>(
    request: SeatRequest,
    deadline: Deadline,
    ask: (connection: EngineConnection) => Promise<T>,
  ): Promise<T> {
    await using seat = this.#seat(request, deadline);
    try {
      return await onLight({ seat, deadline, chance: new SecondChance(deadline) }, ask);
    } catch (error) {
      throw deadline.signal.aborted ? deadline.signal.reason : faultError(error);
    }
  }

  follow(table: FollowedTable): TableFollower {
    return this.#followers.follow(table);
  }

  waiting(): StatementsWaiting {
    return {
      light: this.#turns.waiting("light"),
      dear: this.#turns.waiting("dear"),
      batch: this.#turns.waiting("batch"),
      shard: this.#turns.waiting("shard"),
    };
  }

  async ping(): Promise<void> {
    await Promise.all([
      ...this.#probes.map((probe) => probe.ask((connection) => connection.texts("SELECT 1"))),
      this.#deps.catalog.ping(),
    ]);
  }

  get problem(): string | undefined {
    for (const database of this.#open) {
      if (database.problem !== undefined) return database.problem;
    }
    const overdue = [...this.#seats].map((seat) => seat.overdue(OVERDUE_MS_MAX));
    const stuck = TURN_KINDS.find((kind) =>
      overdue.filter((held) => held === kind).length >= this.#turnCounts[kind]
    );
    if (stuck === undefined) return undefined;
    return `statements past their deadlines hold all ${this.#turnCounts[stuck]} ${stuck} turns`;
  }

  async memory(): Promise<MemoryUse> {
    const rows = await Promise.all(
      this.#probes.map((probe) => probe.ask((connection) => connection.texts(MEMORY_SQL))),
    );
    return {
      ...memoryUse(rows.flatMap((each) => each ?? [])),
      poolBytesMax: this.#poolBytesMax,
      spillBytesMax: this.#spillBytesMax,
    };
  }

  async close(): Promise<void> {
    this.#lender[Symbol.dispose]();
    this.#turns.close(new OperatingError("unavailable", "DuckDB is closed"));
    // Side by side: no work holds up the end of a database that does not answer it.
    const ends = await Promise.allSettled([
      ...this.#works.map(disposed),
      ...[...this.#open].map((database) => database.close()),
    ]);
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #seat(
    { tenant, waitMs, sql }: SeatRequest,
    deadline: Deadline,
  ): Seat {
    const seat = new Seat({
      databases: this.#databases,
      turns: this.#turns,
      ...{ deadline, tenant, waitMs, sql },
      onOver: () => this.#seats.delete(seat),
    });
    this.#seats.add(seat);
    return seat;
  }
}

/** Asks a connection for cheap work, and the next one where DuckDB's process ended under it. */
function onLight<T>(
  seated: Seated,
  ask: (connection: EngineConnection, seated: Seated) => Promise<T>,
): Promise<T> {
  const { seat, chance } = seated;
  return onceMore(async () => await ask(await seat.take("light"), seated), {
    chance,
    again: () => seat.leave(),
  });
}

/** Lines of a plan, and what is measured, are fewer. */
const MEASURED_ROWS_MAX = 100_000;

function turnKind({ batch, shard }: QueryRequest, cost: Cost): TurnKind {
  if (shard !== undefined) return "shard";
  if (batch === true) return "batch";
  return isDear(cost) ? "dear" : "light";
}

/** Whether subqueries may go first. A request for some rows of a table alone means other tables. */
function maySplit(request: QueryRequest): boolean {
  const { shard, received, step, since, uncommittedOnly, columnCounts, planOnly } = request;
  return request.subqueriesFirst !== false && uncommittedOnly !== true && planOnly !== true &&
    [shard, received, step, since, columnCounts].every((part) => part === undefined);
}

async function disposed(work: Disposable | AsyncDisposable): Promise<void> {
  await using stack = new AsyncDisposableStack();
  stack.use(work);
}
