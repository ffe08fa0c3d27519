import assert from "node:assert/strict";
import { parsePromotion, unaskedColumn, withPromoted } from "../schema/promoted.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { completeColumns } from "./complete_columns.ts";
import { completeColumnsOf, dataFileKey, isFullFile } from "./locations.ts";
import { present } from "../base/assert.ts";

const A = present(unaskedColumn("a"));
const B = present(unaskedColumn("b", "number"));
const C = parsePromotion("c:int");
const TABLE = { locationKey: "t" };
const UUID = "00000000-0000-4000-8000-cabcabcabcab";

Deno.test({
  name: "dataFileKey tells the complete columns and whether the file is full, apart",
  fn() {
    for (const complete of [0n, 1n, 6n, (1n << 255n) | 1n]) {
      for (const isFull of [false, true]) {
        const key = dataFileKey(TABLE, 0, UUID, { complete, isFull });
        assert.equal(completeColumnsOf(key), complete, key);
        assert.equal(isFullFile(key), isFull, key);
      }
    }
    for (const key of ["t/data/x-columns-.parquet", `t/data/${UUID}.parquet`, "t/columns-1/a"]) {
      assert.equal(completeColumnsOf(key), 0n, key);
    }
  },
});

Deno.test({
  name: "completeColumns goes by the place in the list of promoted columns, not by the column's",
  fn() {
    const schema = withPromoted(EVENTS_SCHEMA, [A, B, C]);
    const file = { key: dataFileKey(TABLE, 0, UUID, { complete: 0b101n }) };
    assert.deepEqual(completeColumns(file, schema), new Set([A.id, C.id]));
    const dropped = { ...schema, columns: schema.columns.filter(({ name }) => name !== A.name) };
    assert.deepEqual(completeColumns(file, dropped), new Set([C.id]));
    assert.deepEqual(completeColumns({ key: "t/data/other.parquet" }, schema), new Set());
  },
});
