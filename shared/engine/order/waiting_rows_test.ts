/**
 * Newest and oldest rows of segments that wait in the WAL, of a table beside them, in ranges: as a
 * sorted list of all rows has them. Segments overlap, and some are left unread.
 */

import { deepStrictEqual, ok } from "node:assert/strict";
import { encodeBatch } from "../../columns/ipc.ts";
import { batchOfRows } from "../../columns/rows.ts";
import { INLINE_DERIVER } from "../../derived/deriver.ts";
import { drainAll } from "../../drain/drain_all.ts";
import { INLINE_PARQUET_ENCODER } from "../../parquet/parquet_encoder.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../../wal/admin.ts";
import { openWalReader } from "../../wal/reader.ts";

const LANE = { tenant: "default", index: "events" };
const START_MS = 1_795_200_000_000;
const SEGMENTS = 14;
const STATEMENTS = 25;
const SEEDS = Number(Deno.env.get("SVC_TEST_WAITING_SEEDS") ?? 1);

for (let seed = 1; seed <= SEEDS; seed += 1) {
  Deno.test({
    name: `newest and oldest rows beside a WAL that waits are those of all rows: seed ${seed}`,
    async fn() {
      await using lab = await EngineLab.open({ wal: true });
      const random = new SeededRandom(seed);
      const times: number[] = [];
      for (let segment = 0; segment < SEGMENTS; segment += 1) {
        times.push(...await sealSegment(lab, segment, random));
        if (segment === 4) await drain(lab);
      }
      for (let statement = 0; statement < STATEMENTS; statement += 1) {
        // What earlier statements converted must make no difference.
        if (random.chance(0.5)) await lab.restartEngine();
        const { sql, expected } = statementOf(times, random);
        const { rows } = await lab.query(sql);
        deepStrictEqual(rows.map(([ms]) => Number(ms)), expected, sql);
      }
    },
  });
}

/** Rows about one time, of which some are of others; returns their times in ms from the start. */
async function sealSegment(
  lab: EngineLab,
  segment: number,
  random: SeededRandom,
): Promise<number[]> {
  const { wal } = lab;
  ok(wal !== undefined);
  const times = Array.from(
    { length: 1 + random.below(6) },
    () => random.chance(0.1) ? random.below(SEGMENTS * 10) : segment * 10 + random.below(15),
  );
  const rows = times.map((ms) => {
    const us = BigInt(START_MS + ms) * 1_000n;
    const core = { host: "h", source: "s", sourcetype: "t", index: "main" };
    return { timestamp: us, timestamp_ns: us * 1_000n, ...core, raw: String(ms) };
  });
  for (const row of rows) {
    await wal.append(LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, [row])), "auto");
  }
  await wal.seal(LANE);
  return times;
}

async function drain(lab: EngineLab): Promise<void> {
  const { files, clock, random, store, catalog } = lab;
  const root = `${lab.dir}/wal`;
  await drainAll({
    wal: openWalReader(files, root),
    admin: openWalConsumerAdmin(files, clock, root, random),
    ...{ store, catalog, clock, random },
    encoder: INLINE_PARQUET_ENCODER,
    deriver: INLINE_DERIVER,
  });
}

function statementOf(
  times: readonly number[],
  random: SeededRandom,
): { readonly sql: string; readonly expected: readonly number[] } {
  const isNewest = random.chance(0.6);
  const [limit, offset] = [random.below(12), random.chance(0.3) ? random.below(5) : 0];
  const end = SEGMENTS * 10 + 20;
  const [from, to] = random.chance(0.5)
    ? [random.below(end), random.below(end)].sort((a, b) => a - b)
    : [0, end];
  const [first = 0, last = end] = [from, to];
  const ordered = times.filter((ms) => ms >= first && ms <= last)
    .sort((a, b) => isNewest ? b - a : a - b);
  return {
    sql: `SELECT raw FROM events WHERE timestamp >= ${literal(first)} ` +
      `AND timestamp <= ${literal(last)} ORDER BY timestamp ${isNewest ? "DESC" : "ASC"} ` +
      `LIMIT ${limit} OFFSET ${offset}`,
    expected: ordered.slice(offset, offset + limit),
  };
}

function literal(ms: number): string {
  return `TIMESTAMPTZ '${new Date(START_MS + ms).toISOString()}'`;
}
