/**
 * Columns with more values than a summary holds: their counts are the scan's, whatever becomes of
 * the table and its sidecars.
 */

import assert from "node:assert/strict";
import { DuckDBInstance } from "@duckdb/node-api";
import { present } from "../../base/assert.ts";
import { textOf } from "../../base/bytes.ts";
import { inlineDeriver } from "../../derived/deriver.ts";
import { readSidecar, type SidecarSource } from "../../derived/sidecar.ts";
import { IcebergReader } from "../../iceberg/iceberg_reader.ts";
import { DenoFileSystem } from "../../os/deno_file_system.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { EngineLab, type LabEvent } from "../../testing/engine_lab.ts";
import { RemoteStore } from "../../testing/remote_store.ts";
import { AnswerFiles } from "./answer_files.ts";
import { WideColumn } from "./wide_column.ts";

/** Reads each time. */
const SIDECARS_AS_STORED: SidecarSource = { read: readSidecar, distrust() {} };

const FEW = inlineDeriver({ groupValuesMax: 4 });
const START_NS = 1_790_000_040_000_000_000n;
const TOP = "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC, host LIMIT 3";

/** `count` rows whose hosts come round: the first ones are more frequent. */
function rows(count: number, hosts: number, first = 0): LabEvent[] {
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

/**
 * The least count that the plan of a statement takes from the sum of all files; undefined: it takes
 * all.
 */
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

/** Hosts of which nearly each row has its own: no counts of all of them are kept. */
function unalike(count: number, first: number): LabEvent[] {
  return rows(count, 1).map((row, n) => ({
    ...row,
    host: n % 20 === 0 ? `hot-${n % 60}` : `own-${first + n}`,
  }));
}

async function approximately(lab: EngineLab, sql: string, isExact: boolean) {
  await using prepared = await lab.prepare(sql, { isExact });
  await using running = await prepared.run();
  const texts: string[] = [];
  for await (const chunk of running.chunks("array_lines")) texts.push(textOf(chunk.bytes()));
  const { served_by } = await running.stats();
  const answer = texts.join("").split("\n").filter((line) => line !== "")
    .map((line) => JSON.parse(line.replace(/,$/, "")) as [string | null, number]);
  return { answer, servedBy: served_by, approximation: running.approximation };
}

const HOT = "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC LIMIT 3";

Deno.test("most frequent values that no summary counts are told with bounds, only to whoever asks for no exact answer", async () => {
  await using lab = await EngineLab.open({ wal: true });
  for (let file = 0; file < 3; file += 1) {
    await lab.commit(unalike(1_200, 1_200 * file), { derived: FEW });
  }
  await lab.append(rows(30, 1));
  const exact = await approximately(lab, HOT, true);
  assert.deepEqual([exact.servedBy, exact.approximation], ["scan", undefined]);
  assert.equal((await lab.query(HOT)).stats.served_by, "scan");
  const sketched = await approximately(lab, HOT, false);
  // A value that is not listed has one row at most, in each of three files.
  assert.deepEqual([sketched.servedBy, sketched.approximation], [
    "sketch",
    { kind: "heavy_hitters", count_error_max: 3 },
  ]);
  const truth = new Map(
    (await lab.query("SELECT host, count(*) FROM events GROUP BY 1", { fastPaths: false }))
      .rows.map(([host, count]) => [host, Number(count)]),
  );
  const least = Math.min(...sketched.answer.map(([, told]) => told));
  for (const [host, told] of sketched.answer) {
    const real = truth.get(host) ?? 0;
    assert(told <= real && real <= told + 3, `${host}: ${told}, in truth ${real}`);
    truth.delete(host);
  }
  assert(Math.max(...truth.values()) <= least + 3, "none that was left out has more rows");
});

Deno.test("that a file has no counts of a column is read once, and not for each statement", async () => {
  const store = new RemoteStore();
  await using lab = await EngineLab.open({ store });
  for (let file = 0; file < 3; file += 1) {
    await lab.commit(unalike(1_200, 1_200 * file), { derived: FEW });
  }
  const ofSidecars = () => store.reads.filter(({ key }) => key.endsWith(".puffin")).length;
  assert.equal((await lab.query(HOT)).stats.served_by, "scan");
  const first = ofSidecars();
  assert.ok(first >= 3, `${first} reads of sidecars`);
  assert.equal((await lab.query(HOT)).stats.served_by, "scan");
  assert.equal(ofSidecars(), first);
});

/** The counts of `host` in a table of two files with counts of it, and one of 9 rows without. */
async function openCounts(sidecars: SidecarSource) {
  const lab = await EngineLab.open();
  for (let file = 0; file < 2; file += 1) await lab.commit(rows(60, 10), { derived: FEW });
  await lab.commit(rows(9, 2));
  const ident = { namespace: "svc", name: "events" };
  const reader = new IcebergReader(lab.store);
  const location = present(await lab.catalog.metadataLocation(ident));
  const { files } = await reader.selectFiles(await reader.loadTable(ident, location));
  const dir = `${lab.dir}/counts`;
  await Deno.mkdir(dir);
  const counts = new WideColumn({
    ...{ store: lab.store, sidecars, files: new AnswerFiles(new DenoFileSystem(), dir) },
    nowMs: () => 0,
  }, { column: present(EVENTS_SCHEMA.columns.find(({ name }) => name === "host")), kind: "all" });
  const connection = await (await DuckDBInstance.create()).connect();
  const texts = async (sql: string) =>
    (await connection.runAndReadAll(sql)).getRows()
      .map((row) => row.map((value) => value === null ? null : String(value)));
  const without = async (asked = texts) => {
    using told = await counts.of(files, {
      connection: { texts: asked },
      signal: new AbortController().signal,
    });
    return told.without.map(({ rows }) => rows);
  };
  return { lab, files, counts, texts, without };
}

Deno.test("which files counts lack does not depend on what is explained while they are added up", async () => {
  const { lab, counts, texts, without } = await openCounts(SIDECARS_AS_STORED);
  await using _lab = lab;
  let looks = 0;
  const told = await without(async (sql) => {
    looks += 1;
    using _other = await counts.look([]);
    return await texts(sql);
  });
  assert.deepEqual(told, [9]);
  assert.ok(looks > 0, "nothing was added up");
});

Deno.test("a file that was found without counts and has them by now is counted once", async () => {
  const late = Promise.withResolvers<void>();
  let isEarly = true;
  const { lab, files, counts, without } = await openCounts({
    ...SIDECARS_AS_STORED,
    async read(...what) {
      if (!isEarly) return await SIDECARS_AS_STORED.read(...what);
      await late.promise;
      return undefined;
    },
  });
  await using _lab = lab;
  const looking = counts.look(files);
  isEarly = false;
  assert.deepEqual(await without(), [9]);
  late.resolve();
  using looked = await looking;
  assert.equal(looked.without.length, 3);
  assert.deepEqual(await without(), [9]);
});

Deno.test("a statement that is only priced or explained adds no counts up, and tells what it would read", async () => {
  await using lab = await EngineLab.open();
  for (let file = 0; file < 3; file += 1) {
    await lab.commit(rows(60, 10 + file, file * 5), { derived: FEW });
  }
  const explained = async (sql: string, options: { isExact?: boolean } = {}) => {
    await using prepared = await lab.prepare(sql, { planOnly: true, ...options });
    const [line = ""] = (await prepared.explain()).split("\n");
    assert(line.startsWith(`${prepared.servedBy}: `), line);
    return line;
  };
  const answers = async () =>
    (await Array.fromAsync(Deno.readDir(`${lab.dir}/cache/answers`))).length;
  const cold =
    /^tier1_wide: 0 counts of summaries, those of 3 more files when it runs, rows of 0 files/;
  assert.match(await explained(TOP), cold);
  const { rows: [[plan] = []] } = await lab.query(`EXPLAIN ${TOP}`);
  assert.match(String(plan), cold);
  assert.equal(await answers(), 0);

  const { stats } = await lab.query(TOP);
  assert.deepEqual([stats.served_by, await answers()], ["tier1_wide", 1]);
  const warm = await explained(TOP);
  assert.match(warm, /^tier1_wide: \d\d counts of summaries, rows of 0 files/);
  await lab.commit(rows(60, 9, 40), { derived: FEW });
  await lab.commit(rows(60, 9, 50));
  assert.match(
    await explained(TOP),
    /^materialized: \d\d counts of summaries, those of 1 more file when it runs, rows of 1 file, 1 of/,
  );
  assert.equal(await answers(), 1);

  await using other = await EngineLab.open();
  await other.commit(unalike(1_200, 0), { derived: FEW });
  await using prepared = await other.prepare(HOT, { planOnly: true, isExact: false });
  assert.equal(prepared.servedBy, "sketch");
});

Deno.test("a statement that asks for more than the most frequent values is exact whatever it allows", async () => {
  await using lab = await EngineLab.open();
  await lab.commit(unalike(1_200, 0), { derived: FEW });
  for (
    const sql of [
      "SELECT count(DISTINCT host) FROM events",
      "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n LIMIT 3",
      "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC",
      "SELECT host, count(*) AS n, sum(1) FROM events GROUP BY host ORDER BY n DESC LIMIT 3",
      "SELECT host, count(*) AS n FROM events WHERE host > 'x' GROUP BY host ORDER BY n DESC LIMIT 3",
    ]
  ) {
    const { servedBy, approximation } = await approximately(lab, sql, false);
    assert.deepEqual([servedBy, approximation], ["scan", undefined], sql);
  }
  // Counts of all values are kept here: nothing is left to approximate.
  await using other = await EngineLab.open();
  await other.commit(rows(60, 10), { derived: FEW });
  const { servedBy, approximation } = await approximately(other, HOT, false);
  assert.deepEqual([servedBy, approximation], ["tier1_wide", undefined]);
});
