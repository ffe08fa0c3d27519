/**
 * Counts of a live table are those of a plain list of its rows. Rows are appended, sealed, drained
 * and taken out, and counted between and during these steps. A count takes rows of the WAL by the
 * frames of their segments, and those of files by their metadata, so it must take each once.
 *
 * `SVC_TEST_SEED` and `SVC_TEST_COUNT_SEEDS` ask for other seeds, and more of them.
 */

import assert from "node:assert/strict";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows, rowsOf } from "../../shared/columns/rows.ts";
import { INLINE_DERIVER } from "../../shared/derived/deriver.ts";
import { commitRewrite } from "../../shared/iceberg/commit_rewrite.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { readParquet } from "../../shared/parquet/read_parquet.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { DataFileWriter } from "../../shared/tables/data_file_writer.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { drain } from "./sql_lab.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 31_007);
const SEEDS = Number(Deno.env.get("SVC_TEST_COUNT_SEEDS") ?? 4);
const STEPS = 24;
const STATEMENTS_A_STEP = 4;

const LANE = { tenant: "default", index: "events" };
const IDENT = { namespace: "svc", name: "events" };
const FIRST_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z
const SPAN_SECS = 900;

/** Statements whose rows were counted by frames, and those that read some of them. */
const told = { counted: 0, read: 0 };

class LiveTable {
  /** Unix nanoseconds of all rows that it has. */
  rows: bigint[] = [];
  #rowsMade = 0;

  constructor(readonly lab: EngineLab, readonly random: SeededRandom) {}

  /** What is done next; its rows change only before the first `await`, or behind the last. */
  async step(): Promise<string> {
    const kinds = ["append", "append", "append", "seal", "drain", "delete", "restart"] as const;
    const kind = pick(this.random, kinds);
    if (kind === "append") await this.append();
    if (kind === "seal") await this.lab.wal?.seal(LANE);
    if (kind === "drain") {
      if (this.random.chance(0.5)) await this.lab.wal?.seal(LANE);
      await drain(this.lab);
    }
    if (kind === "delete") await this.#delete();
    if (kind === "restart") await this.lab.restartEngine();
    return kind;
  }

  async append(): Promise<void> {
    const times = this.#times();
    const core = { host: "h", source: "s", sourcetype: "t", index: "main" };
    const rows = times.map((ns) => ({
      ...core,
      timestamp: ns / 1_000n,
      timestamp_ns: ns,
      raw: `row ${this.#rowsMade++}`,
    }));
    await this.lab.wal?.append(LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, rows)), "wait_for");
    this.rows.push(...times);
  }

  /** Rows of a request are near each other, or anywhere. */
  #times(): bigint[] {
    const { random } = this;
    const widthSecs = random.chance(0.7) ? 5 : SPAN_SECS;
    const base = FIRST_NS + BigInt(random.below(SPAN_SECS)) * 1_000_000_000n;
    return Array.from(
      { length: 1 + random.below(40) },
      () => base + BigInt(random.below(widthSecs)) * 1_000_000_000n + BigInt(random.below(3)),
    );
  }

  /** Some files are written anew without some of their rows. */
  async #delete(): Promise<void> {
    const { store, catalog, clock, random } = this.lab;
    const reader = new IcebergReader(store);
    const location = await catalog.metadataLocation(IDENT);
    if (location === undefined) return;
    const table = await reader.loadTable(IDENT, location);
    const { files } = await reader.selectFiles(table);
    const replaced = files.filter(() => this.random.chance(0.5));
    if (replaced.length === 0) return;
    const writer = new DataFileWriter(
      { store, random, encoder: INLINE_PARQUET_ENCODER, deriver: INLINE_DERIVER },
      table,
    );
    const left = [...this.rows];
    for (const { key } of replaced) {
      for await (const batch of readParquet(await store.get(key), key)) {
        const kept = rowsOf(batch).filter((row) => {
          if (this.random.chance(0.7)) return true;
          left.splice(left.indexOf(BigInt(row["timestamp_ns"] as bigint)), 1);
          return false;
        });
        if (kept.length > 0) await writer.add(batchOfRows(table.schema, kept));
      }
    }
    const { outcome } = await commitRewrite({ store, catalog, clock, random }, {
      ...{ ident: IDENT, tableUuid: table.uuid, kind: "delete", replaced },
      files: await writer.finish(),
    });
    assert.equal(outcome, "committed");
    this.rows = left;
  }
}

function pick<T>(random: SeededRandom, values: readonly T[]): T {
  return values[random.below(values.length)] as T;
}

/** A count, and what it must give of rows at these instants. */
interface Counting {
  readonly sql: string;
  readonly isMeant: (ns: bigint) => boolean;
}

function makeCount({ rows, random }: LiveTable): Counting {
  const instant = () => {
    const ns = random.chance(0.7) ? pick(random, rows) : undefined; // There may be no row.
    return (ns ?? FIRST_NS + BigInt(random.below(SPAN_SECS)) * 1_000_000_000n) +
      BigInt(random.below(3) - 1) * 1_000n;
  };
  const bounds = [
    (at: bigint) => [`timestamp_ns >= ${at}`, (ns: bigint) => ns >= at] as const,
    (at: bigint) => [`timestamp_ns < ${at}`, (ns: bigint) => ns < at] as const,
    (at: bigint) =>
      [
        `timestamp >= make_timestamptz(${at / 1_000n})`,
        (ns: bigint) => ns / 1_000n >= at / 1_000n,
      ] as const,
    (at: bigint) =>
      [
        `timestamp < make_timestamptz(${at / 1_000n})`,
        (ns: bigint) => ns / 1_000n < at / 1_000n,
      ] as const,
    (_at: bigint) => ["timestamp >= now() - INTERVAL 400 YEAR", () => true] as const,
    (_at: bigint) => ["timestamp < now() + INTERVAL 400 YEAR", () => true] as const,
  ];
  const chosen = Array.from({ length: random.below(3) }, () => pick(random, bounds)(instant()));
  const where = chosen.length === 0 ? "" : ` WHERE ${chosen.map(([text]) => text).join(" AND ")}`;
  // No fast path takes the last one, which planning takes for a count, too.
  const items = [
    "count(*)",
    "count(*)",
    "count() AS n",
    "count(*)::INT, 7",
    "count(*), random() < 2",
  ];
  return {
    sql: `SELECT ${pick(random, items)} FROM events${where}`,
    isMeant: (ns) => chosen.every(([, holds]) => holds(ns)),
  };
}

async function countOf({ lab }: LiveTable, sql: string, fastPaths = true): Promise<number> {
  const { rows, stats } = await lab.query(sql, { fastPaths });
  if (fastPaths) told[stats.rows_scanned === 0 ? "counted" : "read"] += 1;
  return Number(rows[0]?.[0]);
}

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
  Deno.test(`counts of a live table are those of its rows, seed ${seed}`, async () => {
    await using lab = await EngineLab.open({ wal: true });
    const table = new LiveTable(lab, new SeededRandom(seed));
    await table.append();
    const steps: string[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      steps.push(await table.step());
      for (let asked = 0; asked < STATEMENTS_A_STEP; asked += 1) {
        const { sql, isMeant } = makeCount(table);
        const expected = table.rows.filter(isMeant).length;
        const at = `seed ${seed}, after ${steps.join(", ")}: ${sql}`;
        assert.equal(await countOf(table, sql), expected, at);
        // A scan converts segments: what follows finds them so.
        if (table.random.chance(0.1)) assert.equal(await countOf(table, sql, false), expected, at);
      }
    }
  });
}

Deno.test("counts of a live table take each row once while its segments are drained", async () => {
  await using lab = await EngineLab.open({ wal: true });
  const table = new LiveTable(lab, new SeededRandom(FIRST_SEED));
  for (let round = 0; round < 12; round += 1) {
    await table.append();
    await table.append();
    await lab.wal?.seal(LANE);
    await table.append();
    let isDrained = false;
    const draining = drain(lab).then(() => isDrained = true);
    let asked = 0;
    while (!isDrained || asked === 0) {
      const { sql, isMeant } = makeCount(table);
      assert.equal(await countOf(table, sql), table.rows.filter(isMeant).length, sql);
      asked += 1;
    }
    await draining;
  }
});

Deno.test("counts of a live table have each row that was acknowledged before they were asked", async () => {
  await using lab = await EngineLab.open({ wal: true });
  const table = new LiveTable(lab, new SeededRandom(FIRST_SEED + 1));
  await table.append();
  let isWritten = false;
  const writing = (async () => {
    for (let turn = 0; turn < 150; turn += 1) {
      await table.append();
      if (turn % 7 === 0) await lab.wal?.seal(LANE);
      if (turn % 40 === 39) await drain(lab);
    }
    isWritten = true;
  })();
  let before = 0;
  while (!isWritten) {
    const acknowledged = table.rows.length;
    const counted = await countOf(table, "SELECT count(*) FROM events");
    assert(
      counted >= acknowledged && counted >= before,
      `${counted} of ${acknowledged}, ${before}`,
    );
    before = counted;
  }
  await writing;
  assert.equal(await countOf(table, "SELECT count(*) FROM events"), table.rows.length);
});

Deno.test("many of the statements that counted a live table read no row", () => {
  assert(told.counted > told.read && told.read > 0, JSON.stringify(told));
});
