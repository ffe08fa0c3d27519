/** What an answer says when the WAL is damaged: it is never short of rows without a word. */

import { deepStrictEqual as equal, match, ok } from "node:assert/strict";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOfRows } from "../columns/rows.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { INLINE_DERIVER } from "../derived/deriver.ts";
import { drainAll } from "../drain/drain_all.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { EngineLab } from "../testing/engine_lab.ts";
import { openWalConsumerAdmin } from "../wal/admin.ts";
import { damagedPath, segmentPath } from "../wal/layout.ts";
import { openWalReader } from "../wal/reader.ts";

const LANE = { tenant: "default", index: "events" };
const START_NS = 1_795_200_000_000_000_000n;

const STATEMENTS: readonly { sql: string; rows: unknown[][] }[] = [
  { sql: "SELECT raw FROM events ORDER BY raw", rows: [["r0"], ["r2"], ["r3"]] },
  { sql: "SELECT count(*) AS n FROM events", rows: [[3]] },
  { sql: "SELECT raw FROM events ORDER BY timestamp DESC LIMIT 1", rows: [["r3"]] },
];

Deno.test({
  name: "an answer over a damaged WAL says what it lacks, before and after the drain",
  async fn() {
    await using lab = await EngineLab.open({ wal: true });
    const root = `${lab.dir}/wal`;
    const name = await sealFrames(lab);
    const place = segmentPath(root, LANE, { state: "sealed", name });
    const whole = await Deno.readFile(place);
    for (const { sql } of STATEMENTS) {
      const { cost, stats } = await ask(lab, sql);
      equal([cost.warnings, stats.wal_damage], [[], undefined], sql);
    }
    await lab.restartEngine();
    const frames = await framesOf(root, name);
    const [, hit] = frames;
    ok(hit !== undefined);
    const bytes = whole.slice();
    bytes[hit.offset + 50] = (bytes[hit.offset + 50] ?? 0) ^ 1;
    await Deno.writeFile(place, bytes);
    const lost = { segments: 1, bytes: hit.endOffset - hit.offset, rows: 1 };
    await assertTold(lab, lost);
    // An engine that has the rest converted says the same, and so does one that just counts.
    await assertTold(lab, lost);
    await lab.restartEngine();
    await assertTold(lab, lost, STATEMENTS.slice(1));

    const { files, clock, random, store, catalog } = lab;
    const drained = await drainAll({
      wal: openWalReader(files, root),
      admin: openWalConsumerAdmin(files, clock, root, random),
      ...{ store, catalog, clock, random },
      encoder: INLINE_PARQUET_ENCODER,
      deriver: INLINE_DERIVER,
    });
    equal([drained.rows, drained.poisoned, drained.failures], [3, 0, []]);
    await assertTold(lab, lost);
    // Whoever gives the rows up removes what was set aside.
    await Deno.remove(damagedPath(root, LANE, name));
    const { rows, cost, stats } = await ask(lab, "SELECT count(*) AS n FROM events");
    equal([rows, cost.warnings, stats.wal_damage], [[[3]], [], undefined]);
  },
});

Deno.test({
  name: "an answer names a segment that was set aside whole",
  async fn() {
    await using lab = await EngineLab.open({ wal: true });
    const root = `${lab.dir}/wal`;
    const name = await sealFrames(lab);
    await openWalConsumerAdmin(lab.files, lab.clock, root).markPoison(LANE, name);
    const { size } = await Deno.stat(segmentPath(root, LANE, { state: "poison", name }));
    const { cost, stats } = await ask(lab, "SELECT count(*) AS n FROM events");
    equal(stats.wal_damage, { segments: 1, bytes: size });
    equal(cost.exact, false);
    match(cost.warnings.join(), /events: an unknown number of rows of the WAL are damaged/);
  },
});

Deno.test({
  name: "a segment that a power failure left without a header has no rows, and stops no statement",
  async fn() {
    await using lab = await EngineLab.open({ wal: true });
    const root = `${lab.dir}/wal`;
    const name = await sealFrames(lab);
    const whole = await Deno.readFile(segmentPath(root, LANE, { state: "sealed", name }));
    const left = name.replace(/^\d{13}/, (ms) => String(Number(ms) + 1));
    const place = segmentPath(root, LANE, { state: "active", name: left });
    for (const bytes of [0, 31, 500]) {
      await Deno.writeFile(place, whole.subarray(0, bytes));
      const { rows, cost, stats } = await ask(lab, "SELECT count(*) AS n FROM events");
      equal([rows, cost.warnings, stats.wal_damage], [[[4]], [], undefined], `${bytes} bytes`);
    }
  },
});

async function assertTold(
  lab: EngineLab,
  lost: { readonly segments: number; readonly bytes: number; readonly rows: number },
  statements = STATEMENTS,
): Promise<void> {
  for (const { sql, rows } of statements) {
    const answer = await ask(lab, sql);
    equal(answer.rows, rows, sql);
    equal(answer.stats.wal_damage, lost, sql);
    equal(answer.cost.exact, false, sql);
    match(answer.cost.warnings.join(), /events: 1 row of the WAL is damaged/, sql);
  }
}

async function ask(lab: EngineLab, sql: string) {
  await using prepared = await lab.prepare(sql);
  const { rows, stats } = await lab.query(sql);
  return { cost: prepared.cost, rows, stats };
}

/** One segment with four frames of a row each. */
async function sealFrames(lab: EngineLab): Promise<string> {
  const { wal } = lab;
  ok(wal !== undefined);
  const appends = [0, 1, 2, 3].map((number) => {
    const ns = START_NS + BigInt(number) * 1_000_000n;
    const core = { host: "h", source: "s", sourcetype: "t", index: "main" };
    const row = { timestamp: ns / 1_000n, timestamp_ns: ns, ...core, raw: `r${number}` };
    return wal.append(LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, [row])), "wait_for");
  });
  const receipts = await Promise.all(appends);
  await wal.seal(LANE);
  equal(new Set(receipts.map(({ segment }) => segment)).size, 1);
  return receipts[0]?.segment ?? "";
}

async function framesOf(root: string, name: string) {
  await using segment = await openWalReader(new DenoFileSystem(), root).open(LANE, name);
  return await Array.fromAsync(segment.frames());
}
