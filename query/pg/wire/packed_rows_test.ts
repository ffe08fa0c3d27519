import assert from "node:assert/strict";
import { EngineLab } from "../../../shared/testing/engine_lab.ts";
import type { ResultChunk, ResultColumn } from "../../../shared/engine/types.ts";
import { toldColumns } from "../session/told_columns.ts";
import { BINARY_FORMAT, type Format, TEXT_FORMAT } from "../types/formats.ts";
import { RowEncoder } from "./data_rows.ts";
import { packedRowEncoder } from "./packed_rows.ts";

/** Values of each type that packs, with none, with NULL and with lengths of one byte and two. */
const PACKED = `SELECT
    n % 2 = 0 AS b, n::TINYINT AS i1, n::SMALLINT AS i2, n::INTEGER AS i4, -n AS i8,
    n::UTINYINT AS u1, n::USMALLINT AS u2, n::UINTEGER AS u4, n / 7::FLOAT AS f4, n / 7 AS f8,
    DATE '2000-01-01' - n::INTEGER AS d, TIME '23:59:59' AS t, TIMESTAMP 'infinity' AS ts,
    TIMESTAMPTZ '1969-12-31 23:59:59.999999+00' AS tz, make_timestamp_ns(1700000000123456789 + n),
    repeat('ü', n * 40) AS text, '' AS blank, CASE WHEN n % 3 > 0 THEN 'some' END AS some,
    CASE WHEN n % 3 > 0 THEN n::BIGINT END AS few, NULL::VARCHAR AS none, NULL::BIGINT AS nothing,
    {a: n, b: 'x"y'} AS object, '{"a": 1}'::JSON AS json, ('a' || n % 2)::ENUM ('a0', 'a1') AS e
  FROM range(9) r(n)`;

const binary = (columns: readonly ResultColumn[]) => toldColumns({}, columns, [BINARY_FORMAT]);

/** The messages of a statement's rows, which `encode` makes of two parts of each batch. */
async function messages(
  chunks: AsyncIterable<ResultChunk>,
  encode: (message: Uint8Array<ArrayBuffer>, from: number, to: number) => Uint8Array,
): Promise<string> {
  let made = "";
  for await (const chunk of chunks) {
    const message = chunk.bytes();
    const middle = chunk.rowCount >> 1;
    made += encode(message, 0, middle).toHex() + encode(message, middle, chunk.rowCount).toHex();
  }
  return made;
}

Deno.test({
  name: "PackedRowEncoder makes the messages that RowEncoder makes of the same rows",
  async fn() {
    await using lab = await EngineLab.open();
    for (const isCopy of [false, true]) {
      await using first = await lab.prepare(PACKED);
      await using plain = await first.run();
      const encoder = new RowEncoder(binary(plain.columns), { isCopy });
      const wanted = await messages(plain.chunks("arrow_flat"), (...of) => encoder.encode(...of));
      await using second = await lab.prepare(PACKED);
      await using running = await second.run();
      const packing = packedRowEncoder(binary(running.columns), running.columns, { isCopy });
      assert.ok(packing !== undefined && running.packed !== undefined);
      const rows = running.packed(packing.shape);
      assert.equal(await messages(rows, (...of) => packing.encode(...of)), wanted);
      assert.ok(wanted.length > 5_000);
    }
  },
});

Deno.test({
  name: "packedRowEncoder leaves rows alone that have a text format, or values without a length",
  fn() {
    const isPacked = (type: string, format: Format = BINARY_FORMAT) => {
      const columns = [{ name: "a", type }];
      return packedRowEncoder(toldColumns({}, columns, [format]), columns, { isCopy: false }) !==
        undefined;
    };
    const left = ["DECIMAL(9,2)", "HUGEINT", "UBIGINT", "BLOB", "INTERVAL", "UUID", "INTEGER[]"];
    assert.deepEqual(left.filter((type) => isPacked(type)), []);
    assert.equal(isPacked("BIGINT"), true);
    assert.equal(isPacked("BIGINT", TEXT_FORMAT), false);
  },
});
