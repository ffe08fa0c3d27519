/**
 * The compactor as a service with a memory limit of its own: it drains rows that keep coming, and
 * merges what it has drained meanwhile. Its resident memory, pages of program files apart, stays
 * within the limit, and no row is lost.
 */

import assert from "node:assert/strict";
import { encodeBatch } from "../../../shared/columns/ipc.ts";
import { batchOfRows } from "../../../shared/columns/rows.ts";
import { SystemClock } from "../../../shared/os/clock.ts";
import { DenoFileSystem } from "../../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../../shared/os/random.ts";
import { EVENTS_SCHEMA } from "../../../shared/schema/events.ts";
import { PeakMemory } from "../../../shared/testing/process_memory.ts";
import { openWal } from "../../../shared/wal/wal.ts";
import { RoleProcess } from "../../apps/role_process.ts";

const MIB = 2 ** 20;
const LIMIT_BYTES = 320 * MIB;
const LANE = { tenant: "default", index: "events" };
/** Each is drained before the next comes, and merged beside it. */
const ROUNDS = 10;
const ROUND_BATCHES = 8;
const BATCH_ROWS = 1_500;
const ROWS = ROUNDS * ROUND_BATCHES * BATCH_ROWS;
const SAMPLE_MS = 50;
const WORK_MS_MAX = 150_000;
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

Deno.test({
  name: "a compactor that drains and merges at once stays within --memory-bytes",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-compactor-memory-" });
    try {
      await using compactor = await RoleProcess.start("compactor", dir, [
        ...["--memory-bytes", String(LIMIT_BYTES), "--commit-max-age-secs", "0"],
      ]);
      using peak = new PeakMemory(
        () => compactor.memory().map(({ bytes }) => bytes),
        { everyMs: SAMPLE_MS },
      );
      await fillWal(`${dir}/wal`, compactor);
      await until(compactor, ({ merged }) => merged >= ROWS / 2);
      peak.sample();
      // deno-lint-ignore no-console
      console.log(`limit ${LIMIT_BYTES / MIB} MiB, peak ${peak.told}`);
      assert.ok(peak.bytes <= LIMIT_BYTES, `${peak.told} are more than ${LIMIT_BYTES / MIB}`);
      await checkMetrics(compactor);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

interface Done {
  readonly drained: number;
  readonly merged: number;
}

async function until(compactor: RoleProcess, isDone: (done: Done) => boolean): Promise<void> {
  const untilMs = performance.now() + WORK_MS_MAX;
  for (;;) {
    const drained = sumOf(await compactor.metrics("svc_drain_rows_total"));
    const merged = sumOf(await compactor.metrics("svc_compactor_merged_rows_total"));
    if (isDone({ drained, merged })) return;
    assert.ok(performance.now() < untilMs, `${drained} rows are drained, ${merged} merged`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function checkMetrics(compactor: RoleProcess): Promise<void> {
  const metrics = await compactor.metrics("svc_memory_");
  assert.equal(metrics.get("svc_memory_limit_bytes"), LIMIT_BYTES);
  for (const part of ["process", "rows", "threads"]) {
    const limit = metrics.get(`svc_memory_part_limit_bytes{part="${part}"}`);
    const held = metrics.get(`svc_memory_part_bytes{part="${part}"}`);
    assert.ok(limit !== undefined && limit > 0 && held !== undefined && held > 0, part);
  }
}

/** Rows of some 400 bytes, half of them late, round after round. */
async function fillWal(root: string, compactor: RoleProcess): Promise<void> {
  await using wal = await openWal({
    fs: new DenoFileSystem(),
    clock: new SystemClock(),
    random: new SystemRandom(),
    root,
    ageSecsMax: 1,
  });
  for (let from = 0; from < ROWS; from += BATCH_ROWS) {
    const rows = Array.from({ length: BATCH_ROWS }, (_, row) => rowOf(from + row));
    await wal.append(LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, rows)), "auto");
    const written = from + BATCH_ROWS;
    if (written % (ROUND_BATCHES * BATCH_ROWS) > 0) continue;
    await until(compactor, ({ drained }) => drained === written);
  }
}

function rowOf(n: number) {
  const late = n % 2 === 0 ? 0n : 60_000_000_000n;
  const ns = START_NS + BigInt(n) * 1_000_000n - late;
  return {
    ...{ timestamp: ns / 1_000n, timestamp_ns: ns, host: `host-${n % 100}`, source: "s" },
    ...{ sourcetype: "t", index: "main" },
    raw: `request ${n} served: GET /api/items/${n * 7919 % 1_000_003} from re_u${n % 97} in ` +
      `${n % 977} ms, agent Mozilla/5.0 (X11; Linux x86_64) id ${n * 104_729 % 999_983}`,
    attributes: JSON.stringify({
      ...{
        "user.id": `u${n * 31 % 50_021}`,
        "trace.id": (n * 2_654_435_761 % 2 ** 32).toString(16),
      },
      ...{ status: n % 7 === 0 ? 500 : 200, duration_ms: n % 1_013, region: `r${n % 5}` },
    }),
  };
}

function sumOf(values: ReadonlyMap<string, number>): number {
  return [...values.values()].reduce((sum, value) => sum + value, 0);
}
