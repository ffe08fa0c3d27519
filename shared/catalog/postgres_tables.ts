/**
 * Whether a PostgreSQL database has its tables. Where it has, a process needs no right to make any.
 */

import type { PoolClient } from "pg";

/**
 * Whether every table that `script` makes (`CREATE TABLE IF NOT EXISTS`) is there, and may be seen.
 */
export async function hasTablesOf(client: PoolClient, script: string): Promise<boolean> {
  const made = script.matchAll(/CREATE TABLE IF NOT EXISTS (\w+)/g);
  const names = Array.from(made, ([, name]) => name);
  const { rows } = await client.query(
    "SELECT count(to_regclass(name))::integer AS found FROM unnest($1::text[]) AS name",
    [names],
  );
  return rows[0]?.found === names.length;
}
