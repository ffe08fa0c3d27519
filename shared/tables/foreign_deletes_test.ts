/** Values of equality deletes: which are equal, which are not, and what is refused. */

import assert from "node:assert/strict";
import { batchOfRows, type ColumnValue } from "../columns/rows.ts";
import type { TouchedFile } from "../iceberg/touched_files.ts";
import { INLINE_PARQUET_DECODER } from "../parquet/parquet_decoder.ts";
import { writeParquet } from "../parquet/write_parquet.ts";
import type { ColumnType, TableSchema } from "../schema/schema.ts";
import { readForeignDeletes } from "./foreign_deletes.ts";

function schemaOf(type: ColumnType, id = 9): TableSchema {
  return { columns: [{ id, name: "v", type, required: false }], tags: [] };
}

async function goneOf(
  type: ColumnType,
  { deleted, rows, fileId = 9, rowsTold }: {
    readonly deleted: readonly ColumnValue[];
    readonly rows: readonly ColumnValue[];
    /** Field id of the column in the data file. */
    readonly fileId?: number;
    readonly rowsTold?: number;
  },
): Promise<boolean[]> {
  const schema = schemaOf(type);
  const written = writeParquet([batchOfRows(schema, deleted.map((v) => ({ v })))], {
    schema,
  });
  const touched = {
    file: { key: "d", location: "d", rows: rows.length, day: 1 },
    deletes: [{
      ...{ key: "e", location: "e", kind: "equality", equalityIds: [9], dataLocation: undefined },
      ...{ rows: rowsTold ?? deleted.length, byteLength: written.bytes.byteLength },
    }],
  } as unknown as TouchedFile;
  const store = { get: () => Promise.resolve(new Uint8Array(written.bytes)) };
  const rowsOf = await readForeignDeletes({ store, decoder: INLINE_PARQUET_DECODER }, [touched]);
  const batch = batchOfRows(schemaOf(type, fileId), rows.map((v) => ({ v })));
  const isGone = rowsOf(touched).isGone(batch, 0);
  return rows.map((_, at) => isGone(at));
}

const MAX = 2n ** 63n - 1n;

const CASES: readonly (readonly [ColumnType, ColumnValue[], ColumnValue[], boolean[]])[] = [
  ["string", ["a", ""], ["a", "", "b", null], [true, true, false, false]],
  ["string", [null], ["n;", null], [false, true]],
  ["string", ["a\u0000🦊"], ["a\u0000🦊", "a\u0000"], [true, false]],
  ["long", [MAX, -MAX - 1n], [MAX, MAX - 1n, -MAX - 1n], [true, false, true]],
  ["int", [0], [0, 1, null], [true, false, false]],
  ["double", [0, NaN], [0, -0, NaN, 5e-324], [true, false, true, false]],
  ["double", [-0, 5e-324], [0, -0, 5e-324], [false, true, true]],
  ["bool", [false], [false, true, null], [true, false, false]],
  ["timestamptz", [-1n], [-1n, 1n], [true, false]],
];

Deno.test({
  name: "equality deletes take out equal values: of nulls, of zeros with their sign, of NaN",
  async fn() {
    for (const [type, deleted, rows, expected] of CASES) {
      assert.deepEqual(await goneOf(type, { deleted, rows }), expected, `${type} ${deleted}`);
    }
  },
});

Deno.test({
  name: "equality deletes by a column that the table has no more are refused by name",
  async fn() {
    await assert.rejects(goneOf("string", { deleted: ["x"], rows: ["x"], fileId: 4 }), {
      code: "unimplemented",
      message: /compare column 9/,
    });
  },
});

Deno.test({
  name: "delete files of other rows than the table says, and too many, are refused by name",
  async fn() {
    const rows = ["x"];
    await assert.rejects(goneOf("string", { deleted: ["x"], rows, rowsTold: 2 }), {
      code: "corrupt",
      message: /delete file e: it has 1 rows, the table says 2/,
    });
    await assert.rejects(goneOf("string", { deleted: ["x"], rows, rowsTold: 500_001 }), {
      code: "unimplemented",
      reason: "delete_files",
      message: /rewrite_data_files/,
    });
  },
});
