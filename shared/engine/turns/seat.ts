/**
 * A slot holder: what one statement holds of DuckDB while it is at work, which is a scheduler slot
 * and a connection. An expensive statement gives both back once it is planned, and takes a slot for
 * expensive statements to run. A stream whose reader pauses keeps its connection, but not its slot.
 */

import { assert } from "../../base/assert.ts";
import type { Deadline } from "./deadline.ts";
import type { EngineConnection, EngineDatabase } from "../duckdb/driver.ts";
import { PAUSE_MS_MIN } from "../limits.ts";
import type { Turn, TurnKind, Turns } from "./turns.ts";
import type { RunProgress, TurnWaits } from "../types.ts";

/**
 * Where statements run. Both are one database where expensive statements have no DuckDB of their
 * own.
 */
export interface Databases {
  readonly light: EngineDatabase;
  /** Batch jobs run here, too. */
  readonly dear: EngineDatabase;
}

/** What a statement needs to get a slot and a connection. */
export interface SeatOptions {
  readonly databases: Databases;
  readonly turns: Turns;
  readonly deadline: Deadline;
  readonly tenant: string;
  readonly waitMs: TurnWaits | undefined;
  /** Names the statement in the log, by its hash. */
  readonly sql?: string;
  /** Called when it is disposed, and holds nothing any more. */
  readonly onOver?: (seat: Seat) => void;
}

function waitFor(kind: TurnKind, waits: TurnWaits | undefined): number | undefined {
  if (kind === "batch") return undefined;
  return kind === "light" ? waits?.light : waits?.dear;
}

/** One statement's slot and connection. Disposing it gives both back. */
export class Seat implements AsyncDisposable {
  #kind: TurnKind = "light";
  #turn: Turn | undefined;
  #connection: EngineConnection | undefined;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #over = false;

  constructor(private readonly options: SeatOptions) {}

  get connection(): EngineConnection {
    assert(this.#connection !== undefined, "the statement has a connection");
    return this.#connection;
  }

  /** Waits for a slot and a connection, which the deadline then watches. Keeps those it has. */
  async take(kind: TurnKind): Promise<EngineConnection> {
    if (this.#connection !== undefined) return this.#connection;
    const { databases, deadline, tenant, waitMs, sql } = this.options;
    const database = kind === "light" ? databases.light : databases.dear;
    const line = { key: tenant, waitMs: waitFor(kind, waitMs) };
    this.#kind = kind;
    await this.#takeTurn(line.waitMs);
    this.#connection = await database.connect(deadline.signal, {
      ...line,
      ...(sql === undefined ? {} : { sql }),
    });
    if (this.#over) await this.leave();
    deadline.check();
    deadline.watch(this.connection);
    return this.connection;
  }

  /** Progress of what runs; nothing once the connection is given back. */
  progress(): RunProgress {
    return this.#connection?.progress() ?? { rows: 0, percent: undefined };
  }

  /** Gives back what it holds. It may take again. */
  async leave(): Promise<void> {
    clearTimeout(this.#pause);
    this.options.deadline.watch(undefined);
    const connection = this.#connection;
    this.#connection = undefined;
    try {
      await connection?.release();
    } finally {
      this.#endTurn();
    }
  }

  /**
   * Gives back what it holds and takes another connection, because the process of the old one has
   * ended.
   */
  async takeAnew(kind: TurnKind): Promise<EngineConnection> {
    await this.leave();
    return await this.take(kind);
  }

  /** The slot that it holds longer than `graceMs` after its deadline passed, or its caller left. */
  overdue(graceMs: number): TurnKind | undefined {
    const isOverdue = this.#turn !== undefined && this.options.deadline.overdueMs > graceMs;
    return isOverdue ? this.#kind : undefined;
  }

  /** Whether it has a connection and no slot. */
  get isLent(): boolean {
    return this.#connection !== undefined && this.#turn === undefined;
  }

  /**
   * Gives its slot for cheap statements to others if nothing has come for `silentMs` of what it
   * waits for beside DuckDB. It goes on without. False: it has none, or does not wait so long.
   */
  lend(silentMs: number): boolean {
    if (this.#turn === undefined || this.#kind !== "light") return false;
    if (this.options.deadline.silentMs < silentMs) return false;
    this.#endTurn();
    return true;
  }

  /**
   * Nothing is wanted of DuckDB until `resume`. Should that take a while, others have the slot.
   */
  pause(): void {
    this.#pause = setTimeout(() => this.#endTurn(), PAUSE_MS_MIN);
  }

  /**
   * Has its slot again, which may take until the deadline. Throws the reason when it has been
   * stopped meanwhile.
   */
  async resume(): Promise<void> {
    clearTimeout(this.#pause);
    this.options.deadline.check();
    await this.#takeTurn(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    try {
      await this.leave();
    } finally {
      this.options.onOver?.(this);
    }
  }

  async #takeTurn(waitMs: number | undefined): Promise<void> {
    if (this.#turn !== undefined) return;
    const { turns, deadline, tenant } = this.options;
    this.#turn = await turns.take(this.#kind, deadline.signal, { key: tenant, waitMs });
    // It was disposed while it waited: nobody else would give the slot back.
    if (this.#over) this.#endTurn();
  }

  #endTurn(): void {
    this.#turn?.[Symbol.dispose]();
    this.#turn = undefined;
  }
}
