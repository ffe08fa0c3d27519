/** What the two databases of `sql_database.ts` say differently. */

import { type Clock, SystemClock } from "../os/clock.ts";

export interface SqlDialect {
  /** Expression of the time in Unix milliseconds. */
  nowMs(): string;
  /** A FROM item with a column `value`: the texts of the JSON array `$n`. */
  texts(n: number): string;
}

/** The server's clock: processes on several machines go by one. */
export const POSTGRES_NOW_MS = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

export const POSTGRES_DIALECT: SqlDialect = {
  nowMs: () => POSTGRES_NOW_MS,
  texts: (n) => `json_array_elements_text($${n}::json) AS each(value)`,
};

/** SQLite's clock is the machine's, which all its processes share. */
export function sqliteDialect(clock: Clock = new SystemClock()): SqlDialect {
  return {
    nowMs: () => String(Math.floor(clock.nowMs())),
    texts: (n) => `json_each($${n})`,
  };
}
