import assert from "node:assert/strict";
import { batchOfRows } from "../columns/rows.ts";
import type { ParquetEncoder } from "../parquet/parquet_encoder.ts";
import { INLINE_PARQUET_ENCODER } from "../parquet/parquet_encoder.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { type Deriver, INLINE_DERIVER } from "./deriver.ts";
import { openFileThreads } from "./file_threads.ts";

const ROWS = 3_000;

/** A file of rows that begin at `first`, and its sidecar. */
async function made(
  { encoder, deriver }: { readonly encoder: ParquetEncoder; readonly deriver: Deriver },
  first: number,
) {
  const schema = EVENTS_SCHEMA;
  const rows = Array.from({ length: ROWS }, (_, at) => {
    const timestamp = BigInt(first + at) * 1_000_000n;
    const attributes = JSON.stringify({ n: first + at, kind: `k${at % 5}` });
    return {
      ...{ timestamp, timestamp_ns: timestamp * 1_000n, host: `h${at % 7}`, source: "s" },
      ...{ sourcetype: "t", index: "main", raw: `line ${first + at} of many`, attributes },
    };
  });
  using input = encoder.input([batchOfRows(schema, rows)], schema);
  const text = [{ name: "raw", tokenizer: "default" } as const];
  const file = { schema, rows: ROWS, batches: input.batches(), text, rowGroupRows: 1_000 };
  const subject = { key: `svc/events-1/data/${first}.parquet`, rows: ROWS };
  const encoded = encoder.encode(input, { schema });
  const sidecar = deriver.derive(file, encoded.then(() => subject));
  return { bytes: (await encoded).bytes, sidecar: await sidecar };
}

const INLINE = { encoder: INLINE_PARQUET_ENCODER, deriver: INLINE_DERIVER };

/** `threads`: how many have answered when two files were made. */
const CASES = [
  { name: "one thread where there are two processors", processors: 2, helpAfterMs: 0, threads: 1 },
  { name: "a helper at once", processors: 3, helpAfterMs: 0, threads: 2 },
  { name: "no helper yet", processors: 3, helpAfterMs: 3_600_000, threads: 1 },
];

for (const { name, threads, ...options } of CASES) {
  Deno.test(`file threads make what the caller would make: ${name}`, async () => {
    const heldBytes = new Map<object, number>();
    const memory = { collectAboveBytes: Infinity, heldBytes };
    using files = openFileThreads({}, { ...options, memory });
    for (const first of [0, ROWS]) {
      assert.deepEqual(await made(files, first), await made(INLINE, first));
    }
    assert.equal(heldBytes.size, threads);
    files[Symbol.dispose]();
    assert.equal(heldBytes.size, 0, "each thread has ended");
  });
}

Deno.test("file threads fail what takes too long of a file, and go on with the next", async () => {
  using files = openFileThreads({}, { requestMsMax: 1_000 });
  // Different words, which take several seconds.
  const raw = Array.from({ length: 4_000_000 }, (_, at) => (at * 7_919).toString(36)).join(" ");
  const timestamp = 1_000_000n;
  const row = { ...{ timestamp, timestamp_ns: timestamp * 1_000n, host: "h", source: "s" } };
  const rows = [{ ...row, sourcetype: "t", index: "main", raw, attributes: "{}" }];
  using input = files.encoder.input([batchOfRows(EVENTS_SCHEMA, rows)], EVENTS_SCHEMA);
  const text = [{ name: "raw", tokenizer: "default" } as const];
  const file = { schema: EVENTS_SCHEMA, rows: 1, batches: input.batches(), text, rowGroupRows: 9 };
  await assert.rejects(files.deriver.words(file), {
    code: "internal",
    message: /it took longer than it may/,
  });
  assert.deepEqual((await made(files, 0)).bytes, (await made(INLINE, 0)).bytes);
});
