/**
 * Through HTTP come the same rows as from a plain DuckDB over a plain copy of the data. What stands
 * between (gate, plan, WAL, Iceberg, schema evolution, ordered scans, rendering) may change no
 * answer.
 */

import assert from "node:assert/strict";
import { inFormOf, parseDigits, type PlainAnswer, plainAnswer, sortKey } from "./plain_rows.ts";
import { SqlLab } from "./sql_lab.ts";
import { type Statement, STATEMENTS } from "./sql_statements.ts";

const SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 20_261_121);
/** Every so many statements are asked as NDJSON, too. */
const NDJSON_EVERY = 5;

interface Records {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

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

const HEADERS = { "content-type": "application/json" };

async function askRecords(url: string, query: string): Promise<Records> {
  const response = await fetch(url, {
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify({ query }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, `${query}: ${text}`);
  const answer = parseDigits(text) as Records & { row_count: { digits: string } };
  assert.equal(Number(answer.row_count.digits), answer.rows.length);
  return answer;
}

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

/** In the statement's order, or in one of ours where it leaves the order open. */
function assertSameRows(
  actual: readonly (readonly unknown[])[],
  expected: PlainAnswer,
  { sql }: Statement,
): void {
  const ordered = /\bORDER BY (?:(?!\bOVER\b)[^()]|\([^()]*\))*$/i.test(sql);
  const arranged = <T>(rows: readonly T[]) =>
    ordered ? rows : rows.toSorted((a, b) => sortKey(a) < sortKey(b) ? -1 : 1);
  const wanted = arranged(expected.rows);
  const found = arranged(actual).map((row, i) => inFormOf(wanted[i] ?? [], row));
  assert.deepEqual(found, wanted);
}
