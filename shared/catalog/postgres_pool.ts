/**
 * Connections to PostgreSQL, made when needed and bounded in number, wait and time. Knows no table.
 *
 * Needs net permission for the server and env `PG*`, which the client reads for what the URI leaves
 * out. The client is loaded with the first connection: a catalog in a file needs none.
 */

import { getLogger } from "@logtape/logtape";
// @ts-types="@types/pg"
import type pg from "pg";
import { isOperatingError, messageOf, OperatingError } from "../base/errors.ts";
import { FailureLog } from "../logging/failure_log.ts";
import { SystemClock } from "../os/clock.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import { CATALOG_OPTION, postgresError } from "./postgres_errors.ts";

const CONNECTIONS_MAX = 4;
/** For a connection of the pool, made or given back. */
const CONNECT_MS_MAX = 5_000;
/** For one statement, its waiting for locks included. */
const STATEMENT_MS_MAX = 10_000;
/** The server ends a statement itself; past this it is taken for gone. */
const ANSWER_MS_MAX = STATEMENT_MS_MAX + 2_000;
const IDLE_MS_MAX = 30_000;

export interface PostgresPoolOptions {
  /** `postgres://user:password@host:port/database?sslmode=…` */
  readonly uri: string;
  /** Statements that write are refused by the server. */
  readonly readOnly: boolean;
  /** For messages: what the database is, and the option that names it. Default: the catalog. */
  readonly purpose?: DatabasePurpose;
}

export interface DatabasePurpose {
  readonly noun: string;
  readonly option: string;
}

const CATALOG: DatabasePurpose = { noun: "catalog", option: CATALOG_OPTION };

export class PostgresPool implements AsyncDisposable {
  readonly #settings: pg.PoolConfig;
  #pool: Promise<pg.Pool> | undefined;
  /** Server and database for messages: never the password. */
  readonly place: string;
  readonly #purpose: DatabasePurpose;
  readonly #failureLog: FailureLog;
  #closing: Promise<void> | undefined;

  constructor({ uri, readOnly, purpose = CATALOG }: PostgresPoolOptions) {
    this.#purpose = purpose;
    this.place = postgresPlace(uri, purpose.option);
    this.#failureLog = new FailureLog({
      clock: new SystemClock(),
      log: getLogger(["svc", "catalog"]),
      over: `${purpose.noun} ${this.place} answers again`,
    });
    this.#settings = {
      connectionString: uri,
      max: CONNECTIONS_MAX,
      connectionTimeoutMillis: CONNECT_MS_MAX,
      statement_timeout: STATEMENT_MS_MAX,
      query_timeout: ANSWER_MS_MAX,
      idle_in_transaction_session_timeout: ANSWER_MS_MAX,
      idleTimeoutMillis: IDLE_MS_MAX,
      keepAlive: true,
      application_name: "svc",
      ...(readOnly ? { options: "-c default_transaction_read_only=on" } : {}),
    };
  }

  /**
   * Runs one statement, `verb` says for what. Errors: `unavailable`, `permission_denied`,
   * `corrupt`.
   */
  query<R extends pg.QueryResultRow>(
    verb: string,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<R[]> {
    return this.#guard(verb, async () => {
      const pool = await this.#opened();
      return (await pool.query<R>(sql, [...values])).rows;
    });
  }

  /** Lends one connection for as long as `action` takes. */
  withClient<T>(verb: string, action: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    return this.#guard(verb, async () => {
      const pool = await this.#opened();
      const client = await pool.connect();
      let broken: Error | undefined;
      // Between two statements nobody else hears of its end.
      const onEnd = (error: Error) => broken = error;
      client.on("error", onEnd);
      try {
        return await action(client);
      } catch (error) {
        if (!(error instanceof OperatingError)) broken = error as Error;
        throw error;
      } finally {
        client.off("error", onEnd);
        client.release(broken);
      }
    });
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    const pool = await this.#pool;
    await pool?.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #opened(): Promise<pg.Pool> {
    return this.#pool ??= this.#open();
  }

  async #open(): Promise<pg.Pool> {
    // @ts-types="@types/pg"
    const { default: pg } = await import("pg");
    const pool = new pg.Pool(this.#settings);
    // It may end in the very moment in which it is ready, before anybody else hears of that.
    // Unheard it would end the process.
    pool.on("connect", (client) => client.on("error", () => {}));
    // An idle connection that the server closed is no failure of anybody: the next one is made
    // anew.
    pool.on("error", (error) => {
      getLogger(["svc", "catalog"]).info("connection to {place} was lost: {error}", {
        place: this.place,
        error: messageOf(error),
      });
    });
    return pool;
  }

  async #guard<T>(verb: string, action: () => Promise<T>): Promise<T> {
    const { noun, option } = this.#purpose;
    const what = `${verb} in the ${noun}`;
    if (this.#closing !== undefined) {
      throw new OperatingError("unavailable", `Cannot ${what}: it is closed`);
    }
    try {
      const done = await action();
      this.#failureLog.worked(this.place);
      return done;
    } catch (error) {
      const told = postgresError(error, { what, option, place: this.place });
      // Its message goes to clients, without the place.
      if (isOperatingError(told) && told.place !== undefined) {
        this.#failureLog.failed(this.place, `use ${noun} ${this.place}`, error);
      }
      throw told;
    }
  }
}

/** What messages call the catalog at `place`: a file's path, or `postgresPlace`. */
export function catalogPlace(place: string, option?: string): string {
  return isPostgresUri(place) ? postgresPlace(place, option) : place;
}

/**
 * `postgres://host:port/database` of a URI, without user, password and parameters. Errors:
 * `invalid_argument`.
 */
export function postgresPlace(uri: string, option: string = CATALOG_OPTION): string {
  // The text may hold a password: it is not repeated.
  const refused = (what: string, cause?: unknown) =>
    new OperatingError("invalid_argument", `Cannot read ${option} as a URL: ${what}`, {
      reason: "unsupported_catalog",
      cause,
    });
  if (hasSeveralHosts(uri)) {
    throw refused("it names several hosts; give one address that leads to the primary");
  }
  try {
    const url = new URL(uri);
    return `postgres://${url.host}${url.pathname}`;
  } catch (cause) {
    throw refused(
      "give postgres://user:password@host:5432/database, with / ? # of a password as %2F %3F %23",
      cause,
    );
  }
}

/** True for the form of libpq: `postgres://user:password@one:5432,two:5432/database`. */
function hasSeveralHosts(uri: string): boolean {
  const [, hosts = ""] = /^[a-z]+:\/\/(?:.*@)?([^/?#]*)/i.exec(uri) ?? [];
  return hosts.includes(",");
}
