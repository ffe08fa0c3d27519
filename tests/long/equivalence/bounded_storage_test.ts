/**
 * Hours of a steady stream of events, by a clock that the test moves. Each ten seconds a segment of
 * the WAL is drained, as the drain's gate has it, and every sweep of maintenance runs when it is
 * due. All bytes in the WAL and the warehouse stay below a bound for each event, and files and
 * snapshots do not grow with time.
 *
 * `SVC_STORAGE_HOURS=72 deno test -A tests/long/equivalence/bounded_storage_test.ts` is three days
 * of one event a second. `SVC_STORAGE_RATE=20000 SVC_STORAGE_HOURS=0.1` is a rate at which
 * data files get full. It compares with the bytes of the same rows in one run of full files, and in
 * one sorted file by DuckDB with its zstd. In a run of less than three days what goes after a time
 * goes after the same share of the run.
 */

import { DuckDBInstance } from "@duckdb/node-api";
import assert from "node:assert/strict";
import { decodeLogsProtobuf } from "../../../ingest/otlp/logs/logs_protobuf.ts";
import { encodeBatch } from "../../../shared/columns/ipc.ts";
import { EVENTS_TABLE } from "../../../shared/schema/events.ts";
import { DEFAULT_TENANT } from "../../../shared/tenant/tenant.ts";
import { DataFileWriter } from "../../../shared/tables/data_file_writer.ts";
import { applyDrain, type DrainDeps, lookAtLane } from "../../../shared/drain/drain.ts";
import { EXPIRE_POLICY_DEFAULT, REMOVAL_GRACE_MS } from "../../../shared/tables/expire.ts";
import { fileRun } from "../../../shared/tables/file_run.ts";
import { MERGED_INPUT_BYTES } from "../../../shared/upkeep/merge.ts";
import { mergeRuns } from "../../../shared/tables/merge_runs.ts";
import { DRAIN_GATE_OPEN } from "../../../shared/drain/plan_drain.ts";
import { sweepLane } from "../../../shared/drain/sweep_lane.ts";
import { tableSweeps } from "../../../shared/upkeep/table_sweeps.ts";
import type { FileSystem } from "../../../shared/os/file_system.ts";
import { CrashableFileSystem } from "../../../shared/testing/crashable_file_system.ts";
import { MaintenanceLab } from "../../../shared/testing/maintenance_lab.ts";
import { EVENTS } from "../../../shared/testing/table_lab.ts";
import { openWalConsumerAdmin } from "../../../shared/wal/admin.ts";
import { openWalReader } from "../../../shared/wal/reader.ts";
import type { Wal } from "../../../shared/wal/types.ts";
import { openWal } from "../../../shared/wal/wal.ts";
import { otlpLogsBody } from "../../bench/otlp_bodies.ts";

const HOURS = Number(Deno.env.get("SVC_STORAGE_HOURS") ?? 0.5);
const RATE = Number(Deno.env.get("SVC_STORAGE_RATE") ?? 1);
const COMMIT_SECS = 10;
const HOUR_SECS = 3_600;
const COMMITS = Math.round(HOURS * HOUR_SECS / COMMIT_SECS);
const EVENTS_PER_COMMIT = COMMIT_SECS * RATE;
const BYTES_PER_EVENT_MAX = 3_000;
const ROWS_PER_BATCH = 5_000;
/** From this rate on bytes are compared with those of the same rows in full files. */
const RATE_OF_FULL_FILES = 1_000;
/** In a short run snapshots and files must go sooner to show that they do. */
const SHARE_OF_RUN = Math.min(1, HOURS / 72);
const RETAIN_LAST = Math.min(EXPIRE_POLICY_DEFAULT.retainLast, Math.ceil(20 * HOURS));
/** Snapshots younger than the policy's age, and what merges and the sweep's interval add. */
const SNAPSHOTS_MAX = RETAIN_LAST + EXPIRE_POLICY_DEFAULT.ageMsMin / (1_000 * COMMIT_SECS) + 20;
const GRACE_MS = Math.max(30_000, REMOVAL_GRACE_MS * SHARE_OF_RUN);
const LANE = { tenant: DEFAULT_TENANT, index: EVENTS_TABLE };
const WAL_ROOT = "/wal";
const NEVER = new AbortController().signal;

/** Bytes by what they are for. */
interface Stored {
  readonly data: number;
  /** Bytes of data files that no snapshot of now has, and that go later. */
  readonly replaced: number;
  readonly index: number;
  readonly metadata: number;
  readonly wal: number;
}

interface Sample {
  readonly events: number;
  readonly stored: Stored;
  readonly objects: number;
  readonly files: number;
  readonly snapshots: number;
}

Deno.test({
  name:
    `${HOURS} hours of ${RATE} events a second: bytes for each event are bounded, files and snapshots stay few`,
  async fn() {
    await using lab = await MaintenanceLab.open(1);
    const samples = await run(lab);
    // From a quarter on the table is in its steady state.
    const steady = samples.slice(1);
    for (const { events, stored } of steady) {
      const perEvent = totalOf(stored) / events;
      assert.ok(perEvent <= BYTES_PER_EVENT_MAX, `${perEvent} bytes an event after ${events}`);
    }
    for (const one of samples) {
      if (RATE === 1) {
        assert.ok(one.files <= 7 * 6, `${one.files} files after ${one.events} events`);
      }
      assert.ok(
        one.snapshots <= SNAPSHOTS_MAX,
        `${one.snapshots} snapshots after ${one.events} events`,
      );
    }
    const [early, late] = [steady[1], steady.at(-1)];
    assert.ok(early !== undefined && late !== undefined);
    const growth = late.objects / early.objects;
    if (RATE === 1) {
      assert.ok(growth <= 1.5, `${early.objects} objects became ${late.objects}`);
      const times = new Set((await lab.rows()).map(({ ns }) => ns));
      assert.equal(times.size, COMMITS * EVENTS_PER_COMMIT, "each event once");
    }
    const rows = (await lab.files()).reduce((sum, file) => sum + file.rows, 0);
    assert.equal(rows, COMMITS * EVENTS_PER_COMMIT);
    if (Deno.env.has("SVC_STORAGE_HOURS")) await print(lab, samples);
  },
});

async function run(lab: MaintenanceLab): Promise<Sample[]> {
  const { clock, random } = lab;
  const fs = new CrashableFileSystem({ nowMs: () => clock.nowMs() });
  await using wal = await openWal({ fs, clock, random, root: WAL_ROOT, freeBytesMin: 0 });
  const { observer: _, ...deps } = lab.deps();
  const drain: DrainDeps = {
    ...deps,
    wal: openWalReader(fs, WAL_ROOT),
    admin: openWalConsumerAdmin(fs, clock, WAL_ROOT),
  };
  const sweeps = tableSweeps(lab.deps(), {
    summariesIntervalMs: 900_000,
    expire: { ...EXPIRE_POLICY_DEFAULT, retainLast: RETAIN_LAST, removalGraceMs: GRACE_MS },
  });
  const dueMs = new Map(sweeps.map(({ name }) => [name, 0]));
  const samples: Sample[] = [];
  for (let commit = 0; commit < COMMITS; commit += 1) {
    await append(wal, commit, clock.nowNs());
    const plan = await lookAtLane(drain, LANE, { gate: DRAIN_GATE_OPEN, requested: true });
    assert.equal(await applyDrain(drain, LANE, plan), "committed");
    await sweepLane(drain, LANE);
    for (const sweep of sweeps) {
      if ((dueMs.get(sweep.name) ?? 0) > clock.nowMs()) continue;
      while (await sweep.run(EVENTS, NEVER));
      dueMs.set(sweep.name, clock.nowMs() + sweep.intervalMs);
    }
    clock.shift(COMMIT_SECS * 1_000);
    if ((commit + 1) % Math.floor(COMMITS / 8) === 0) {
      const events = (commit + 1) * EVENTS_PER_COMMIT;
      samples.push({ events, ...await sample(lab, fs) });
    }
  }
  return samples;
}

/** The events of the last seconds, in one segment. */
async function append(wal: Wal, commit: number, nowNs: bigint): Promise<void> {
  const startNs = nowNs - BigInt(COMMIT_SECS) * 1_000_000_000n;
  for (let from = 0; from < EVENTS_PER_COMMIT; from += ROWS_PER_BATCH) {
    const body = otlpLogsBody({
      records: Math.min(ROWS_PER_BATCH, EVENTS_PER_COMMIT - from),
      first: commit * EVENTS_PER_COMMIT + from,
      startNs: startNs + BigInt(from) * 1_000n,
    });
    await wal.append(LANE, encodeBatch(decodeLogsProtobuf(body, { nowNs })), "wait_for");
  }
  await wal.seal(LANE);
}

async function sample(lab: MaintenanceLab, fs: FileSystem): Promise<Omit<Sample, "events">> {
  const objects = await Array.fromAsync(lab.store.list(""));
  const files = await lab.files();
  const live = new Set(files.map(({ key }) => key));
  const bytesOf = (isWanted: (key: string) => boolean) =>
    objects.reduce((sum, { key, size }) => sum + (isWanted(key) ? size : 0), 0);
  const isData = (key: string) => key.endsWith(".parquet");
  const isIndex = (key: string) => key.endsWith(".puffin");
  return {
    stored: {
      data: bytesOf((key) => live.has(key)),
      replaced: bytesOf((key) => isData(key) && !live.has(key)),
      index: bytesOf(isIndex),
      metadata: bytesOf((key) => !isData(key) && !isIndex(key)),
      wal: await bytesBelow(fs, WAL_ROOT),
    },
    objects: objects.length,
    files: files.length,
    snapshots: (await lab.table())?.metadata.snapshots.length ?? 0,
  };
}

async function bytesBelow(fs: FileSystem, folder: string): Promise<number> {
  let bytes = 0;
  for (const { name, isDirectory } of await fs.readDir(folder)) {
    const path = `${folder}/${name}`;
    bytes += isDirectory ? await bytesBelow(fs, path) : (await fs.stat(path)).size;
  }
  return bytes;
}

function totalOf({ data, replaced, index, metadata, wal }: Stored): number {
  return data + replaced + index + metadata + wal;
}

async function print(lab: MaintenanceLab, samples: readonly Sample[]): Promise<void> {
  const lines = samples.map(({ events, stored, objects, files, snapshots }) => {
    const parts = Object.entries(stored).map(([part, bytes]) =>
      `${part} ${(bytes / events).toFixed(1)}`
    );
    return `${events} events: ${(totalOf(stored) / events).toFixed(1)} bytes each ` +
      `(${parts.join(", ")}); ${objects} objects, ${files} files, ${snapshots} snapshots`;
  });
  const last = samples.at(-1);
  if (RATE >= RATE_OF_FULL_FILES && last !== undefined) {
    for (
      const [what, ideal] of [
        ["full files of the same rows", await idealBytes(lab)],
        ["one sorted file of the same rows by DuckDB", await sortedByDuckDb(lab)],
      ] as const
    ) {
      const times = (bytes: number) => (bytes / ideal).toFixed(2);
      lines.push(
        `${what}: ${(ideal / last.events).toFixed(1)} bytes each; live data ` +
          `${times(last.stored.data)} times that, everything ${times(totalOf(last.stored))} times`,
      );
    }
  }
  await Deno.stdout.write(new TextEncoder().encode(`${lines.join("\n")}\n`));
}

/** Bytes of all rows in the fewest data files, without sidecars. */
async function idealBytes(lab: MaintenanceLab): Promise<number> {
  const table = await lab.table();
  assert.ok(table !== undefined);
  const { deriver: _, ...deps } = lab.deps();
  const writer = new DataFileWriter(deps, table, { inputBytesMax: MERGED_INPUT_BYTES });
  const runs = (await lab.files()).map((file) => fileRun(deps, table, file));
  for await (const batch of mergeRuns(runs)) await writer.add(batch);
  const files = await writer.finish();
  await writer.discard();
  return files.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Bytes of all rows in one file with zstd, whose writer is not ours. */
async function sortedByDuckDb(lab: MaintenanceLab): Promise<number> {
  const dir = await Deno.makeTempDir({ prefix: "svc-storage-" });
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    for (const [at, { key }] of (await lab.files()).entries()) {
      await Deno.writeFile(`${dir}/${at}.parquet`, await lab.store.get(key));
    }
    await connection.run(
      `COPY (SELECT * FROM read_parquet('${dir}/*.parquet') ORDER BY timestamp, timestamp_ns) ` +
        `TO '${dir}/sorted' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 65536)`,
    );
    return (await Deno.stat(`${dir}/sorted`)).size;
  } finally {
    connection.closeSync();
    instance.closeSync();
    await Deno.remove(dir, { recursive: true });
  }
}
