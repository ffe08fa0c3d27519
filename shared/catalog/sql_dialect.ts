/** What the two databases of `sql_database.ts` say differently. */

import { type Clock, SystemClock } from "../os/clock.ts";

export interface SqlDialect {
  /** Expression of the time in Unix milliseconds. */
  nowMs(): string;
  /** A FROM item with a column `value`: the texts of the JSON array `$n`. */
  texts(n: number): string;
  /**
   * A FROM item `name` of the rows of `$n`, a JSON array of arrays, whose members are `columns` in
   * their order.
   */
  rows(n: number, name: string, columns: Readonly<Record<string, "text" | "integer">>): string;
  /**
   * A statement that keeps other transactions from changing `table` until the end of this one; none
   * where all wait anyway.
   */
  lock(table: string): string | undefined;
}

/** No lease, no claim and no pause before another attempt is longer. */
const LEASE_MS_MAX = 3_600_000;

/**
 * Condition that the lease whose end is in `column` has run out. One that lasts longer than any
 * does was taken before the clock was set back. It counts as run out, too, or nobody could take it
 * until the clock is there again.
 */
export function hasRunOut(dialect: Pick<SqlDialect, "nowMs">, column: string): string {
  const now = dialect.nowMs();
  return `(${column} <= ${now} OR ${column} > ${now} + ${LEASE_MS_MAX})`;
}

/** The server's clock: processes on several machines go by one. */
export const POSTGRES_NOW_MS = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

export const POSTGRES_DIALECT: SqlDialect = {
  nowMs: () => POSTGRES_NOW_MS,
  texts: (n) => `json_array_elements_text($${n}::json) AS each(value)`,
  rows: (n, name, columns) => {
    const members = Object.entries(columns).map(([column, type], at) =>
      `(item ->> ${at})${type === "integer" ? "::bigint" : ""} AS ${column}`
    );
    const source = `json_array_elements($${n}::json) AS each(item)`;
    return `(SELECT ${members.join(", ")} FROM ${source}) AS ${name}`;
  },
  lock: (table) => `LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`,
};

/** SQLite's clock is the machine's, which all its processes share. */
export function sqliteDialect(clock: Clock = new SystemClock()): SqlDialect {
  return {
    nowMs: () => String(Math.floor(clock.nowMs())),
    texts: (n) => `json_each($${n})`,
    rows: (n, name, columns) => {
      const members = Object.keys(columns).map((column, at) =>
        `json_extract(value, '$[${at}]') AS ${column}`
      );
      return `(SELECT ${members.join(", ")} FROM json_each($${n})) AS ${name}`;
    },
    lock: () => undefined,
  };
}
