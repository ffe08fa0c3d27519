/** That it reads what the writer writes, of all types, is in `../writer/parquet_file_test.ts`. */

import assert from "node:assert/strict";
import { parquetMetadata } from "hyparquet";
import { batchOfRows, rowsOf } from "../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import type { TableSchema } from "../../schema/schema.ts";
import { batchOf } from "../../testing/drain_lab.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { wasmParquet } from "../../testing/wasm_parquet.ts";
import { writeParquet } from "../write_parquet.ts";
import { batchesOf, readOwnFile } from "./own_file.ts";

const BATCH = batchOf(Array.from({ length: 3_000 }, (_, at) => at));
const FLIPS = 300;

const OPTIONS = { schema: EVENTS_SCHEMA, rowGroupRowsMax: 1_000 };

Deno.test("readOwnFile leaves files of other writers to who can read them", () => {
  assert.equal(readOwnFile(wasmParquet([BATCH], OPTIONS), [0]), undefined);
});

Deno.test("readOwnFile gives the row groups asked for, in memory that it was lent, whatever that held", () => {
  const file = writeParquet([BATCH], OPTIONS).bytes;
  const spare = new ArrayBuffer(4 * 1024 * 1024);
  new Uint8Array(spare).fill(0xa5);
  const placed = readOwnFile(file, [2, 0], spare);
  assert.equal(placed?.buffer, spare);
  const rows = rowsOf(BATCH);
  assert.deepEqual(batchesOf(placed).batches.map((batch) => rowsOf(batch)), [
    rows.slice(2_000),
    rows.slice(0, 1_000),
  ]);
  // Too small: in memory of its own.
  const other = readOwnFile(file, [1], new ArrayBuffer(64));
  assert.deepEqual(other && batchesOf(other).batches.flatMap(rowsOf), rows.slice(1_000, 2_000));
});

Deno.test("readOwnFile gives numbers and texts of dictionaries that are compressed", () => {
  const rows = Array.from({ length: 20_000 }, (_, at) => {
    const value = (at * 7) % 1_001;
    return {
      name: at % 11 === 0 ? null : `text ${value}`,
      long: at % 5 === 0 ? null : BigInt(value) - 500n,
      int: value - 500,
      double: value / 8,
    };
  });
  const schema: TableSchema = {
    columns: [
      { id: 1, name: "name", type: "string", required: false },
      { id: 2, name: "long", type: "long", required: false },
      { id: 3, name: "int", type: "int", required: true },
      { id: 4, name: "double", type: "double", required: true },
    ],
    tags: [],
  };
  const batch = batchOfRows(schema, rows);
  const { bytes, footer } = writeParquet([batch], { schema });
  const packed = parquetMetadata(bytes).row_groups.flatMap(({ columns }) => columns)
    .filter(({ meta_data: chunk }) =>
      chunk?.codec === "ZSTD" && chunk.dictionary_page_offset !== undefined
    );
  assert.ok(
    packed.length >= schema.columns.length,
    `${packed.length} chunks are as they should be`,
  );
  const placed = readOwnFile(bytes, footer.rowGroups.map((_, at) => at));
  assert.deepEqual(placed && batchesOf(placed).batches.flatMap(rowsOf), rows);
});

Deno.test("readOwnFile refuses what a damaged file says, or gives as many rows as it has", () => {
  const file = writeParquet([BATCH], OPTIONS).bytes;
  const random = new SeededRandom(5);
  let refused = 0;
  for (let turn = 0; turn < FLIPS; turn += 1) {
    const damaged = file.slice();
    for (let flips = 0; flips < 4; flips += 1) {
      damaged[4 + random.below(file.length - 12)] = random.below(256);
    }
    try {
      const placed = readOwnFile(damaged, [0]);
      const [batch] = placed === undefined ? [] : batchesOf(placed).batches;
      for (const { offsets, values } of batch?.columns ?? []) {
        if (offsets === null) continue;
        assert.equal(offsets[0], 0);
        assert.equal(offsets.at(-1), values.length);
        assert.ok(offsets.every((end, at) => at === 0 || end >= (offsets[at - 1] as number)));
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      refused += 1;
    }
  }
  assert.ok(refused > FLIPS / 2, `${refused} refused`);
});
