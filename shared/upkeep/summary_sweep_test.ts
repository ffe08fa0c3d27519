/** What the census finds and mends, that it looks at a file once, and when it tries again. */

import assert from "node:assert/strict";
import { type Deriver, INLINE_DERIVER, inlineDeriver } from "../derived/deriver.ts";
import { readSidecar, sidecarKey, writeSidecar } from "../derived/sidecar.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import { GROUP_COUNTS_BLOB } from "../derived/summary/summary_blobs.ts";
import { VALUE_COUNTS_BLOB } from "../derived/summary/value_counts.ts";
import { isIndexed } from "../derived/text/text_blobs.ts";
import type { DataFile } from "../iceberg/types.ts";
import { INLINE_PARQUET_DECODER } from "../parquet/parquet_decoder.ts";
import { EngineLab, type LabEvent } from "../testing/engine_lab.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import type { MendedSidecars } from "./maintenance_observer.ts";
import { SummarySweep } from "./summary_sweep.ts";

const EVENTS = { namespace: "svc", name: "events" };
const GROUPS = "SELECT host, count(*) FROM events GROUP BY host ORDER BY host";
const MINUTE_MS = 60_000;
/** Months after the rows. */
const NOW_MS = Date.UTC(2027, 0, 1);

function rows(first: number): LabEvent[] {
  return Array.from({ length: 6 }, (_, n) => ({
    ns: 1_790_000_000_000_000_000n + BigInt(first + n) * 1_000_000n,
    host: `h${n % 2}`,
  }));
}

function sweepOf({ store, catalog }: EngineLab, clock = new FakeClock(NOW_MS)) {
  const mended: MendedSidecars[] = [];
  const backlog = { bytes: 0 };
  const sweep = new SummarySweep({
    ...{ store, catalog, clock, decoder: INLINE_PARQUET_DECODER },
    isBacklogOver: (bytes) => Promise.resolve(backlog.bytes > bytes),
    observer: { mended: (_, sidecars) => void mended.push(sidecars) },
  });
  const run = async () => {
    mended.length = 0;
    const more = await sweep.run(EVENTS, new AbortController().signal);
    return { more, mended: [...mended] };
  };
  return { backlog, clock, run };
}

async function filesOf({ store, catalog }: EngineLab): Promise<readonly DataFile[]> {
  const location = await catalog.metadataLocation(EVENTS);
  assert(location !== undefined);
  const reader = new IcebergReader(store);
  const table = await reader.loadTable(EVENTS, location);
  return (await reader.selectFiles(table)).files;
}

async function replace({ store }: EngineLab, key: string, bytes: Uint8Array): Promise<void> {
  await store.delete([key]);
  await store.putNew(key, bytes);
}

Deno.test("SummarySweep makes missing and damaged summaries anew, once, a bounded number in a turn", async () => {
  await using lab = await EngineLab.open();
  const { run } = sweepOf(lab);
  assert.deepEqual(await run(), { more: false, mended: [] });
  for (let n = 0; n < 20; n += 1) await lab.commit(rows(100 * n), { derived: n < 2 });
  const [first] = await filesOf(lab);
  assert(first !== undefined);
  const key = sidecarKey(first.key);
  const bytes = await lab.store.get(key);
  const sidecar = await readSidecar(lab.store, first);
  const place = sidecar?.blobs.find(({ type }) => type === GROUP_COUNTS_BLOB);
  assert(place !== undefined);
  await replace(lab, key, bytes.map((byte, at) => at === place.offset + 3 ? byte ^ 1 : byte));
  assert.deepEqual(await run(), { more: true, mended: [{ rebuilt: 16, indexed: 0, failed: 0 }] });
  assert.deepEqual(await run(), { more: false, mended: [{ rebuilt: 3, indexed: 0, failed: 0 }] });
  assert.deepEqual(await run(), { more: false, mended: [] });
  const { texts, stats } = await lab.query(GROUPS);
  assert.deepEqual([texts, stats.served_by], [['["h0",60]', '["h1",60]'], "tier1_inline"]);
});

Deno.test("SummarySweep tries a file that cannot be read after 15 min, 1 h and 4 h, and then no more", async () => {
  await using lab = await EngineLab.open();
  const { clock, run } = sweepOf(lab);
  await lab.commit(rows(0), { derived: true });
  await lab.commit(rows(100));
  const broken = (await filesOf(lab))[1];
  assert(broken !== undefined);
  await replace(lab, broken.key, new Uint8Array(broken.byteLength));
  const failed = { more: false, mended: [{ rebuilt: 0, indexed: 0, failed: 1 }] };
  const quiet = { more: false, mended: [] };
  for (const pauseMs of [0, 15 * MINUTE_MS, 60 * MINUTE_MS, 240 * MINUTE_MS]) {
    if (pauseMs > 0) {
      await clock.advance(pauseMs - 1);
      assert.deepEqual(await run(), quiet, `${pauseMs} ms`);
      await clock.advance(1);
    }
    assert.deepEqual(await run(), failed, `${pauseMs} ms`);
  }
  await clock.advance(10_000 * MINUTE_MS);
  assert.deepEqual(await run(), quiet);
});

Deno.test("SummarySweep makes counts of columns with many values that an indexed file lacks, once", async () => {
  await using lab = await EngineLab.open();
  const few = inlineDeriver({ groupValuesMax: 4 });
  const many: LabEvent[] = Array.from({ length: 90 }, (_, n) => ({
    ns: 1_790_000_000_000_000_000n + BigInt(n) * 1_000_000n,
    host: `h${n % 40}`,
  }));
  for (let n = 0; n < 2; n += 1) await lab.commit(many, { derived: few });
  const spills = async (file: DataFile) =>
    (await readSidecar(lab.store, file))?.blobs.filter(({ type }) => type === VALUE_COUNTS_BLOB)
      .length;
  const [file, whole] = await filesOf(lab);
  assert(file !== undefined && whole !== undefined);
  const { run } = sweepOf(lab);
  assert.deepEqual(await run(), { more: false, mended: [] });

  const sidecar = await readSidecar(lab.store, file);
  const bytes = await lab.store.get(sidecarKey(file.key));
  const kept = sidecar?.blobs.filter(({ type }) => type !== VALUE_COUNTS_BLOB) ?? [];
  assert(isIndexed(kept));
  const blobs = kept.map(({ offset, length, ...blob }) => ({
    ...blob,
    data: bytes.subarray(offset, offset + length),
  }));
  await replace(lab, sidecarKey(file.key), writeSidecar(blobs, file));
  assert.deepEqual([await spills(file), await spills(whole)], [0, 1]);
  assert.deepEqual(await run(), { more: false, mended: [] }, "it looks at a file once");
  assert.deepEqual(await sweepOf(lab).run(), {
    more: false,
    mended: [{ rebuilt: 1, indexed: 0, failed: 0 }],
  });
  assert.deepEqual(await sweepOf(lab).run(), { more: false, mended: [] });
  const { texts, stats } = await lab.query(
    "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC, host LIMIT 1",
  );
  assert.deepEqual([texts, stats.rows_scanned], [['["h0",6]'], 0]);
});

Deno.test("SummarySweep makes indexes that a file of a past day lacks, once, and not while many rows wait", async () => {
  await using lab = await EngineLab.open();
  const { backlog, run } = sweepOf(lab);
  const withoutIndexes: Deriver = {
    ...INLINE_DERIVER,
    derive: (file, subject) => INLINE_DERIVER.derive({ ...file, text: undefined }, subject),
  };
  for (let n = 0; n < 18; n += 1) await lab.commit(rows(100 * n), { derived: withoutIndexes });
  await lab.commit(rows(10_000), { derived: true });
  const isIndexedNow = async (file: DataFile) =>
    isIndexed((await readSidecar(lab.store, file))?.blobs ?? []);
  const indexed = async () => (await Promise.all((await filesOf(lab)).map(isIndexedNow)));
  assert.deepEqual(new Set((await indexed()).slice(0, 18)), new Set([false]));
  const quiet = { more: false, mended: [] };

  const day = Math.floor(1_790_000_000_000 / 86_400_000);
  const today = sweepOf(lab, new FakeClock(day * 86_400_000 + 1));
  assert.deepEqual(await today.run(), quiet, "its day is not past");
  backlog.bytes = 2 ** 30;
  assert.deepEqual(await run(), quiet, "rows wait");
  backlog.bytes = 0;
  const made = (indexed: number) => [{ rebuilt: 0, indexed, failed: 0 }];
  assert.deepEqual(await run(), { more: true, mended: made(16) });
  assert.deepEqual(await run(), { more: false, mended: made(2) });
  assert.deepEqual(await run(), quiet);
  assert.deepEqual(await sweepOf(lab).run(), quiet, "nor by another process");
  assert.deepEqual(new Set(await indexed()), new Set([true]));
  const found = await lab.query("SELECT count(*) FROM events WHERE match_terms(raw, 'nowhere')", {
    fastPaths: false,
  });
  assert.deepEqual(found.rows, [[0]]);
  // How many files are asked depends on the time it takes. Where all are left out, nothing scans.
  assert.ok(found.stats.rows_scanned < 19 * 6, "the new indexes are used");
});
