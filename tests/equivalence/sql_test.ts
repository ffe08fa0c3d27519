/**
 * Through HTTP come the same rows as from a plain DuckDB over a plain copy of the data. What stands
 * between (gate, plan, WAL, Iceberg, schema evolution, ordered scans, rendering) may change no
 * answer.
 */

import assert from "node:assert/strict";
import { parseDigits, type PlainAnswer, plainAnswer } from "./plain_rows.ts";
import { askRecords, assertSameRows, HEADERS } from "./sql_answers.ts";
import { SqlLab } from "./sql_lab.ts";
import { STATEMENTS } from "./sql_statements.ts";

const SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 20_261_121);
/** Every so many statements are asked as NDJSON, too. */
const NDJSON_EVERY = 5;

Deno.test({
  name: "POST /api/v1/sql gives the rows of a plain DuckDB over a plain copy",
  fn: async (t) => {
    await using lab = await SqlLab.open(SEED);
    for (const table of ["events", "metrics"]) {
      const { files, delta } = await lab.parts(table);
      assert(files >= 3 && delta >= 3, `${table}: ${files} files, ${delta} pieces of the WAL`);
    }
    for (const [i, statement] of STATEMENTS.entries()) {
      await t.step(`${i}: ${statement.sql.slice(0, 120)}`, async () => {
        const expected = await plainAnswer(lab.plain, statement.plain ?? statement.sql);
        const records = await askRecords(lab.url, statement.sql);
        assert.deepEqual(records.columns, expected.columns);
        assertSameRows(records.rows, expected, statement);
        if (i % NDJSON_EVERY === 0 && isNamed(expected)) {
          assertSameRows(await askStream(lab.url, statement.sql, expected), expected, statement);
        }
      });
    }
  },
});

async function askStream(
  url: string,
  query: string,
  { columns }: PlainAnswer,
): Promise<readonly (readonly unknown[])[]> {
  const body = JSON.stringify({ query, format: "ndjson" });
  const response = await fetch(url, { method: "POST", headers: HEADERS, body });
  const lines = (await response.text()).split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const row = parseDigits(line) as Record<string, unknown>;
    assert.deepEqual(Object.keys(row), columns);
    return columns.map((name) => row[name]);
  });
}

/**
 * Objects cannot have a name twice, and list numeric names first: the stream's own tests are about
 * those.
 */
function isNamed({ columns }: PlainAnswer): boolean {
  return new Set(columns).size === columns.length &&
    columns.every((name) => !/^\d+$/.test(name) && name !== "digits");
}
