/**
 * A database of ours, the catalog's or one beside it, for statements that SQLite and PostgreSQL
 * understand alike: parameters are `$1`, `$2`, …, whole numbers come back as numbers. For what is
 * seldom changed; commits of tables have statements made for each.
 */

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { messageOf, OperatingError } from "../base/errors.ts";
import type { PostgresPool } from "./postgres_pool.ts";
import { CommitCount, inTransaction } from "./sqlite_commits.ts";
import { CheckedLately, type SqliteCopies } from "./sqlite_copies.ts";
import { closeConnections, openConnection } from "./sqlite_connections.ts";
import { guard, isReadOnly } from "./sqlite_errors.ts";

export type SqlValue = string | number | null;
export type SqlRow = Readonly<Record<string, unknown>>;

export interface SqlStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * What one transaction does: it yields a statement and gets the rows of its query or its RETURNING.
 * A generator, since SQLite must run it to its end without a pause (other work that waits for its
 * lock waits on this very thread), and PostgreSQL answers later.
 */
export type Transaction<T> = Generator<SqlStatement, T, readonly SqlRow[]>;

/** A statement and the values of its parameters. */
export function sql(text: string, values: readonly SqlValue[] = []): SqlStatement {
  return { sql: text, values };
}

/** A database whose statements run in transactions. */
export interface SqlDatabase extends AsyncDisposable {
  /** Runs `steps` in one transaction, which is undone when it throws; `verb` says for what. */
  transaction<T>(verb: string, steps: () => Transaction<T>): Promise<T>;
}

/**
 * A connection of its own to a SQLite file that has the tables. `noun` says in messages what it is.
 */
export class SqliteDatabase implements SqlDatabase {
  #db: DatabaseSync;
  #isDisposed = false;
  readonly #path: string;
  readonly #busyTimeoutMs: number;
  readonly #noun: string;
  readonly #checked: CheckedLately | undefined;

  /** `copies`: what the file's rows are compared with; its commits are counted then, too. */
  constructor(
    path: string,
    options: {
      readonly busyTimeoutMs: number;
      readonly noun?: string;
      readonly copies?: SqliteCopies;
    },
  ) {
    const { copies } = options;
    this.#checked = copies === undefined
      ? undefined
      : new CheckedLately(copies, new CommitCount(path));
    this.#path = path;
    this.#noun = options.noun ?? "catalog";
    this.#busyTimeoutMs = options.busyTimeoutMs;
    this.#db = this.#open();
  }

  transaction<T>(verb: string, steps: () => Transaction<T>): Promise<T> {
    return guard(`${verb} in the ${this.#noun}`, this.#path, () => {
      try {
        return this.#transact(steps);
      } catch (error) {
        if (!isReadOnly(error)) throw error;
        closeConnections(this.#path);
        return this.#transact(steps);
      }
    });
  }

  #transact<T>(steps: () => Transaction<T>): T {
    if (!this.#db.isOpen && !this.#isDisposed) this.#db = this.#open();
    this.#checked?.look(this.#db);
    const run = () => ({ keep: true, value: runSqliteSteps(this.#db, steps()) });
    return inTransaction(this.#db, run, this.#checked?.commits);
  }

  #open(): DatabaseSync {
    const db = openConnection(this.#path, { timeout: this.#busyTimeoutMs });
    try {
      db.exec("PRAGMA synchronous = FULL");
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    if (this.#db.isOpen) this.#db.close();
    return Promise.resolve();
  }
}

/** Runs the statements of a transaction that the caller began and ends. */
export function runSqliteSteps<T>(db: DatabaseSync, steps: Transaction<T>): T {
  let step = steps.next();
  while (step.done !== true) {
    step = steps.next(sqliteRows(db, step.value.sql, step.value.values));
  }
  return step.value;
}

/** Rows of one statement with parameters `$1`, `$2`, …. */
export function sqliteRows(
  db: DatabaseSync,
  sql: string,
  values: readonly SqlValue[],
): readonly SqlRow[] {
  return db.prepare(sql.replaceAll(/\$([0-9]+)/g, "?$1")).all(...values as SQLInputValue[]);
}

/** Over a pool, which the caller closes. */
export class PostgresDatabase implements SqlDatabase {
  readonly #pool: PostgresPool;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  transaction<T>(verb: string, steps: () => Transaction<T>): Promise<T> {
    return this.#pool.withClient(verb, async (client) => {
      await client.query("BEGIN");
      try {
        const running = steps();
        let step = running.next();
        while (step.done !== true) {
          const { rows } = await client.query(step.value.sql, [...step.value.values]);
          step = running.next(rows);
        }
        await client.query("COMMIT");
        return step.value;
      } catch (error) {
        await client.query("ROLLBACK").catch(() => {});
        throw error;
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
  }
}

/** Text of a row's column. Errors: `corrupt`. */
export function textOfRow(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw new OperatingError("corrupt", `Cannot read ${column} in the catalog: it is ${value}`);
}

/**
 * Whole number of a row's column, which PostgreSQL tells as text when it has 64 bits. Errors:
 * `corrupt`.
 */
export function integerOfRow(row: SqlRow, column: string): number {
  const value = Number(row[column]);
  if (Number.isSafeInteger(value)) return value;
  throw new OperatingError("corrupt", `Cannot read ${column} in the catalog: it is ${row[column]}`);
}

/** JSON text of a row's column through `parse`. Errors: `corrupt`, naming what was to be read. */
export function parsedOf<T>(row: SqlRow, column: string, parse: (value: unknown) => T): T {
  const text = textOfRow(row, column);
  try {
    return parse(JSON.parse(text));
  } catch (cause) {
    throw new OperatingError(
      "corrupt",
      `Cannot read ${column} in the catalog: ${messageOf(cause)}`,
      { cause },
    );
  }
}
