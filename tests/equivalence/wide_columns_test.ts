/**
 * A column with far more values than a summary counts gives the rows of a scan, whatever is asked
 * of it. By hand with ten million values: `SVC_TEST_DISTINCT=10000000 deno test -A
 * tests/equivalence/wide_columns_test.ts` takes some minutes and tells how long each statement
 * took, first and again, and its scan.
 */

import assert from "node:assert/strict";
import type { RowObject } from "../../shared/columns/rows.ts";
import { inlineDeriver } from "../../shared/derived/deriver.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";

const DISTINCT = Number(Deno.env.get("SVC_TEST_DISTINCT") ?? 6_000);
const ROWS_A_FILE = DISTINCT > 100_000 ? 100_000 : 2_000;
/**
 * Values of a file that no other begins with; some of the others' come besides, and some rows share
 * a value.
 */
const OWN_A_FILE = 3 / 4 * ROWS_A_FILE;
const OTHERS_A_FILE = ROWS_A_FILE / 10;

const SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "session", type: "string", required: false },
    { id: 4, name: "raw", type: "string", required: true },
  ],
  tags: ["session"],
};
const TABLE = { ident: { namespace: "svc", name: "sessions" }, schema: SCHEMA };
const START_NS = 20_700n * 86_400_000_000_000n;
/** What a value takes must be little beside its row. */
const RAW = "session ".repeat(20);

function nameOf(value: number): string | null {
  if (value === 0) return null;
  if (value === 1) return "";
  return `s${(Math.imul(value, 0x9e37_79b1) >>> 0).toString(16)}`;
}

function rowsOf(file: number, random: SeededRandom): RowObject[] {
  return Array.from({ length: ROWS_A_FILE }, (_, n) => {
    const ns = START_NS + BigInt(file * ROWS_A_FILE + n) * 1_000_000n;
    const value = n < OWN_A_FILE
      ? file * OWN_A_FILE + n
      : n < OWN_A_FILE + OTHERS_A_FILE
      ? random.below(DISTINCT)
      : file * OWN_A_FILE + random.below(OWN_A_FILE / 10);
    return { timestamp: ns / 1_000n, timestamp_ns: ns, session: nameOf(value), raw: RAW };
  });
}

const COUNTS = "SELECT session, count(*) AS n FROM sessions";
const STATEMENTS = [
  `${COUNTS} GROUP BY session ORDER BY n DESC, session LIMIT 100`,
  `${COUNTS} GROUP BY session ORDER BY n, session DESC LIMIT 100`,
  `${COUNTS} WHERE session LIKE '%ab1%' GROUP BY session ORDER BY n DESC, session LIMIT 50`,
  `${COUNTS} GROUP BY session HAVING count(*) > 6 ORDER BY session LIMIT 1000`,
  `${COUNTS} WHERE session IS NULL OR session = '' GROUP BY session ORDER BY session`,
  "SELECT count(DISTINCT session), count(session), count(*), min(session), max(session) FROM sessions",
  "SELECT length(session), count(*) FROM sessions GROUP BY 1 ORDER BY 1",
  "SELECT DISTINCT left(session, 2) FROM sessions ORDER BY 1",
];

Deno.test(`a column of ${DISTINCT} values gives the rows of a scan`, async () => {
  await using lab = await EngineLab.open({
    engine: { memoryBytesMax: 1024 ** 3, spillBytesMax: 8 * 1024 ** 3 },
  });
  const random = new SeededRandom(1);
  const deriver = inlineDeriver({ groupValuesMax: 100 });
  for (let file = 0; file * OWN_A_FILE < DISTINCT; file += 1) {
    await lab.commitRows(rowsOf(file, random), { ...TABLE, derived: deriver });
  }
  const long = { deadlineMs: 600_000 };
  for (const sql of STATEMENTS) {
    const fast = await timed(() => lab.query(sql, long));
    const again = await timed(() => lab.query(sql, long));
    const scanned = await timed(() => lab.query(sql, { ...long, fastPaths: false }));
    const { stats, texts } = fast.answer;
    assert.deepEqual([stats.served_by, stats.rows_scanned], ["tier1_wide", 0], sql);
    assert.equal(scanned.answer.stats.served_by, "scan");
    assert.deepEqual(texts, scanned.answer.texts, sql);
    assert.deepEqual(again.answer.texts, texts, sql);
    if (DISTINCT > 100_000) {
      const line = `${fast.ms} ms, again ${again.ms}, scan ${scanned.ms}: ${sql}\n`;
      Deno.stderr.writeSync(new TextEncoder().encode(line));
    }
  }
});

async function timed<T>(
  ask: () => Promise<T>,
): Promise<{ readonly answer: T; readonly ms: number }> {
  const startMs = performance.now();
  const answer = await ask();
  return { answer, ms: Math.round(performance.now() - startMs) };
}
