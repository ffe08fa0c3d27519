/** Makes and drops the tables of rows in memory, in the DuckDB of cheap statements. */

import { present } from "../../base/assert.ts";
import { OperatingError } from "../../base/errors.ts";
import type { Column } from "../../schema/schema.ts";
import type { DataFiles } from "../files/data_files.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { filePart, fileTable } from "../plan/plan.ts";
import { blockSql, heldColumn } from "../bind/relation.ts";
import type { HeldTables, WantedBlock } from "./held_rows.ts";

/** A value that is no text takes at most so much. So does the head of a text, twice. */
const VALUE_BYTES = 8;
/**
 * Bytes that a text takes for each of its own in blocks that are not filled: 4,096 rows of 380
 * bytes took 2.7 MB.
 */
const TEXT_FACTOR = 1.5;
/** The least that DuckDB takes for a table and for each column. */
const TABLE_BYTES = 16_384;

/** Where data files are, and what runs the work. */
export interface HeldLoading {
  readonly data: DataFiles;
  /** Runs background work where cheap statements run. */
  readonly behind: <T>(
    work: (connection: EngineConnection) => Promise<T>,
    signal: AbortSignal,
  ) => Promise<T>;
}

/** Tables in the DuckDB of cheap statements. */
export function heldTables({ data, behind }: HeldLoading): HeldTables {
  return {
    async make(wanted, { table, bytesMax, signal }) {
      using lease = data.lease(signal);
      const { file, rows, columns } = wanted;
      const part = { ...filePart(file, lease.path(file)), range: rows };
      const { tables } = await lease.bring({ tables: [fileTable(file, columns, [part])] });
      const source = blockSql(present(tables[0]?.parts[0]), columns);
      return await behind(async (connection) => {
        // The size is found out first: what a dictionary has once, a table has for each row.
        const bytes = await bytesOf(connection, source, wanted);
        if (bytes > bytesMax) return undefined;
        await connection.texts(`CREATE TABLE ${table} AS ${source}`);
        return bytes;
      }, signal);
    },
    async drop(tables, signal) {
      await behind(async (connection) => {
        for (const table of tables) await connection.texts(`DROP TABLE ${table}`);
      }, signal);
    },
  };
}

async function bytesOf(
  connection: EngineConnection,
  source: string,
  { file, rows, columns }: WantedBlock,
): Promise<number> {
  const lengths = columns.filter(isText).map((column) =>
    ` + coalesce(sum(strlen(${heldColumn(column)})), 0)`
  );
  const [[count, text] = []] = await connection.texts(
    `SELECT count(*), 0${lengths.join("")} FROM (${source})`,
  );
  const wanted = rows.end - rows.first;
  if (Number(count) !== wanted) {
    throw new OperatingError(
      "corrupt",
      `Cannot hold rows ${rows.first} to ${rows.end} of ${file.key}: it has ${count} of them`,
    );
  }
  const width = columns.reduce(
    (sum, one) => sum + VALUE_BYTES * (isText(one) ? 2 : 1),
    VALUE_BYTES,
  );
  return TABLE_BYTES * (1 + columns.length) + wanted * width + TEXT_FACTOR * Number(text);
}

function isText({ type }: Column): boolean {
  return type === "string";
}
