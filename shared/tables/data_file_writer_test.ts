import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { isOperatingError } from "../base/errors.ts";
import { sliceRows } from "../columns/gather.ts";
import { batchOfRows, rowsOf } from "../columns/rows.ts";
import { type Deriver, INLINE_DERIVER, openDeriver } from "../derived/deriver.ts";
import { readSidecar, sidecarKey } from "../derived/sidecar.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { ensureTable } from "../iceberg/commit_append.ts";
import type { ParquetEncoder } from "../parquet/parquet_encoder.ts";
import { readParquet } from "../parquet/read_parquet.ts";
import { batchOf, DrainLab } from "../testing/drain_lab.ts";
import { DataFileWriter } from "./data_file_writer.ts";

const IDENT = { namespace: "svc", name: "events" };

async function writerOf(lab: DrainLab, deriver: Deriver): Promise<DataFileWriter> {
  const table = await ensureTable(lab.deps, { ident: IDENT, schema: EVENTS_SCHEMA });
  return new DataFileWriter({ ...lab.deps, deriver }, table);
}

Deno.test("DataFileWriter stores a sidecar beside each file, from its thread and inline", async () => {
  await using lab = await DrainLab.open();
  using thread = openDeriver({});
  for (const deriver of [thread, INLINE_DERIVER]) {
    const writer = await writerOf(lab, deriver);
    await writer.add(batchOf([1, 2, 3]));
    const [file] = await writer.finish();
    const sidecar = await readSidecar(lab.deps.store, present(file));
    assert.ok(sidecar !== undefined);
  }
});

Deno.test("DataFileWriter gives its files also when nothing can be derived", async () => {
  await using lab = await DrainLab.open();
  const broken = { ...INLINE_DERIVER, derive: () => Promise.reject(new Error("out of memory")) };
  const writer = await writerOf(lab, broken);
  await writer.add(batchOf([1, 2, 3]));
  const [file] = await writer.finish();
  assert.equal(file?.rows, 3);
  assert.equal(await readSidecar(lab.deps.store, present(file)), undefined);
});

Deno.test("DataFileWriter holds the rows of one file at a time unless it is pipelined", async () => {
  for (const isPipelined of [false, true]) {
    await using lab = await DrainLab.open();
    const table = await ensureTable(lab.deps, { ident: IDENT, schema: EVENTS_SCHEMA });
    let [held, most] = [0, 0];
    const { encoder } = lab.deps;
    const counting: ParquetEncoder = {
      ...encoder,
      open(schema, bytes) {
        most = Math.max(most, held += 1);
        return encoder.open(schema, bytes);
      },
      async encode(input, options) {
        // Longer than it takes to add the rows of the next file.
        await new Promise((resolve) => setTimeout(resolve, 20));
        const file = await encoder.encode(input, options);
        held -= 1;
        return file;
      },
    };
    const writer = new DataFileWriter({ ...lab.deps, encoder: counting }, table, {
      ...{ inputBytesMax: 1, isPipelined },
    });
    for (const second of [1, 2, 3]) await writer.add(batchOf([second]));
    const files = await writer.finish();
    assert.equal(files.length, 3);
    assert.equal(most > 1, isPipelined);
  }
});

Deno.test("DataFileWriter discard removes files and sidecars", async () => {
  await using lab = await DrainLab.open();
  const { store } = lab.deps;
  const writer = await writerOf(lab, INLINE_DERIVER);
  await writer.add(batchOf([1]));
  const [file] = await writer.finish();
  await writer.discard();
  for (const key of [present(file).key, sidecarKey(present(file).key)]) {
    await assert.rejects(store.head(key), (error) => isOperatingError(error, "not_found"));
  }
});

Deno.test("DataFileWriter cuts full files at whole row groups, keeps every row once and releases each batch", async () => {
  await using lab = await DrainLab.open();
  const table = await ensureTable(lab.deps, { ident: IDENT, schema: EVENTS_SCHEMA });
  const row = rowsOf(batchOf([0]))[0];
  const numbers = Array.from({ length: 120_000 }, (_, at) => at);
  const all = batchOfRows(
    EVENTS_SCHEMA,
    numbers.map((at) => ({
      ...row,
      timestamp: BigInt(at),
      timestamp_ns: 1_000n * BigInt(at),
      raw: `row ${at}`,
    })),
  );
  const bytes = all.columns.reduce(
    (sum, { offsets, values }) => sum + (offsets?.byteLength ?? 0) + values.byteLength,
    0,
  );
  const inputBytesMax = 0.7 * bytes;
  const writer = new DataFileWriter(lab.deps, table, { inputBytesMax, marksFull: true });
  let released = 0;
  const starts = [0, 50_000, 65_000, 97_000];
  for (const [at, start] of starts.entries()) {
    const batch = sliceRows(all, start, starts[at + 1] ?? numbers.length);
    await writer.add({ ...batch, release: () => released += 1 });
  }
  const files = await writer.finish();
  assert.deepEqual(files.map(({ rows }) => rows), [98_304, numbers.length - 98_304]);
  assert.equal(released, starts.length);
  const texts: unknown[] = [];
  for (const { key } of files) {
    for await (const batch of readParquet(await lab.deps.store.get(key), key)) {
      texts.push(...rowsOf(batch).map(({ raw }) => raw));
    }
  }
  assert.deepEqual(texts, numbers.map((at) => `row ${at}`));
});
