/** Columns with more values than a summary holds: their counts are the scan's, whatever becomes of the table and its sidecars. */

import assert from "node:assert/strict";
import { inlineDeriver } from "../../derived/deriver.ts";
import { EngineLab, type EventFields } from "../../testing/engine_lab.ts";

const FEW = inlineDeriver({ groupValuesMax: 4 });
const START_NS = 1_790_000_040_000_000_000n;
const TOP = "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC, host LIMIT 3";

/** `count` rows whose hosts come round: the first ones are more frequent. */
function rows(count: number, hosts: number, first = 0): EventFields[] {
  return Array.from({ length: count }, (_, n) => ({
    ns: START_NS + BigInt(n) * 1_000_000_000n,
    host: n % 3 === 0 ? `host-${first}` : `host-${first + n % hosts}`,
    raw: `row ${n}`,
  }));
}

const STATEMENTS = [
  TOP,
  "SELECT host, count(*) FROM events GROUP BY 1 ORDER BY 2 DESC LIMIT 1000",
  "SELECT host, count(*) FROM events GROUP BY ALL ORDER BY count(*) DESC, host LIMIT 5 OFFSET 2",
  "SELECT host, count(*) FROM events WHERE host LIKE '%1%' GROUP BY host ORDER BY 2 DESC, 1 LIMIT 4",
  "SELECT host, count(*) FROM events GROUP BY host HAVING count(*) < 9 ORDER BY 2 DESC, 1 LIMIT 4",
  "SELECT upper(host) AS h, count(*) FROM events GROUP BY h ORDER BY 2 DESC, 1 LIMIT 4",
  "SELECT count(DISTINCT host), min(host), max(host) FROM events",
  "SELECT count(*) FROM events WHERE host IN ('host-0', 'host-7', 'nobody')",
  "SELECT DISTINCT host FROM events ORDER BY host",
];

async function checkAll(lab: EngineLab, told: string): Promise<void> {
  for (const sql of STATEMENTS) {
    const fast = await lab.query(sql);
    const scanned = await lab.query(sql, { fastPaths: false });
    assert.deepEqual(
      sql.includes("LIMIT 1000") ? fast.texts.toSorted() : fast.texts,
      sql.includes("LIMIT 1000") ? scanned.texts.toSorted() : scanned.texts,
      `${told}: ${sql}`,
    );
    assert.notEqual(fast.stats.served_by, "scan", `${told}: ${sql}`);
  }
}

Deno.test("a column with more values than a summary holds is counted exactly, and reads no row", async () => {
  await using lab = await EngineLab.open({ wal: true });
  for (let file = 0; file < 4; file += 1) {
    await lab.commit(rows(60, 10 + file, file * 5), { derived: FEW });
  }
  await checkAll(lab, "four files");
  const { stats } = await lab.query(TOP);
  assert.deepEqual([stats.served_by, stats.rows_scanned, stats.scan], ["tier1_wide", 0, undefined]);

  await lab.append([...rows(20, 7, 2), ...rows(5, 1, 900)]);
  await checkAll(lab, "rows in the WAL");
  assert.equal((await lab.query(TOP)).stats.rows_scanned, 25);

  await lab.commit(rows(9, 2), { derived: true });
  await checkAll(lab, "a file with few values");
  assert.equal((await lab.query(TOP)).stats.served_by, "tier1_wide");
  await lab.commit(rows(9, 2));
  await checkAll(lab, "a file without a summary");
  assert.equal((await lab.query(TOP)).stats.served_by, "materialized");
});

/** The least count that the plan of a statement takes from the sum of all files; undefined: it takes all. */
async function leastTaken(lab: EngineLab, sql: string): Promise<string | undefined> {
  await using prepared = await lab.prepare(sql);
  return /#summary rows\s*>=\s*(\d+)/.exec((await prepared.explain()).replaceAll(/[│\s]+/g, " "))
    ?.[1];
}

const SELECT = "SELECT host, count(*) AS n FROM events";
const LEAST: readonly (readonly [sql: string, least: string | undefined])[] = [
  [`${SELECT} GROUP BY host ORDER BY n DESC LIMIT 1`, "26"],
  [`${SELECT} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 2`, "5"],
  [`${SELECT} GROUP BY ALL ORDER BY count(*) DESC LIMIT 1 OFFSET 1`, "5"],
  [`${SELECT} WHERE timestamp > '1999-01-01' GROUP BY host ORDER BY count() DESC LIMIT 2`, "5"],
  [`${SELECT} GROUP BY host ORDER BY n LIMIT 1`, undefined],
  [`${SELECT} GROUP BY host ORDER BY host DESC, n DESC LIMIT 1`, undefined],
  [`${SELECT} GROUP BY host ORDER BY n DESC`, undefined],
  [`${SELECT} GROUP BY upper(host), host ORDER BY n DESC LIMIT 1`, undefined],
  [`${SELECT} WHERE host > 'h' GROUP BY host ORDER BY n DESC LIMIT 1`, undefined],
  [`${SELECT} GROUP BY host HAVING n < 9 ORDER BY n DESC LIMIT 1`, undefined],
  [
    "SELECT host, count(*) FILTER (host > 'host-1') AS n FROM events GROUP BY host ORDER BY n DESC LIMIT 1",
    undefined,
  ],
  [
    "SELECT upper(host) AS h, count(*) AS n FROM events GROUP BY h ORDER BY n DESC LIMIT 1",
    undefined,
  ],
  ["SELECT DISTINCT count(*) AS n FROM events GROUP BY host ORDER BY n DESC LIMIT 1", undefined],
];

Deno.test("only where a statement wants the most frequent values alone are the others left out", async () => {
  await using lab = await EngineLab.open();
  // 26 rows of the first host and 4 or 5 of each other.
  await lab.commit(rows(65, 10), { derived: FEW });
  for (const [sql, least] of LEAST) assert.equal(await leastTaken(lab, sql), least, sql);
});
