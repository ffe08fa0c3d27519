import assert from "node:assert/strict";
import { isOperatingError } from "../../base/errors.ts";
import { hashBytes, mixed } from "./hash.ts";
import { utf8 } from "../../base/bytes.ts";
import type { ColumnValues } from "./collect_values.ts";
import { ValueFilter, writeValueFilter } from "./value_filter.ts";
import { COLUMN_OBJECTS, COLUMN_PLAIN } from "./values_format.ts";

const FILE = { rows: 80_000, rowGroupRows: 65_536 };

const hashOf = (id: number, value: number) => mixed(hashBytes(utf8(`${id}=value ${value}`)));

function valuesOf(id: number, count: number, kind = COLUMN_PLAIN): ColumnValues {
  return {
    id,
    kind,
    hasUnknown: false,
    hashes: Uint32Array.from({ length: count }, (_, value) => hashOf(id, value)),
    places: { starts: new Uint32Array(count + 1), granules: new Uint32Array(0) },
  };
}

Deno.test("a filter of values holds each of them, and few others", () => {
  const written = writeValueFilter([valuesOf(3, 1_600), valuesOf(8, 6_000, COLUMN_OBJECTS)], FILE);
  assert.ok(written !== undefined && written.headerBytes === written.bytes.byteLength);
  const filter = new ValueFilter(written.bytes);
  assert.deepEqual([filter.rows, filter.rowGroupRows], [80_000, 65_536]);
  assert.deepEqual([...filter.columns], [[3, COLUMN_PLAIN], [8, COLUMN_OBJECTS]]);
  for (const [id, count] of [[3, 1_600], [8, 6_000]] as const) {
    let mistaken = 0;
    for (let value = 0; value < count + 10_000; value += 1) {
      const mayHold = filter.mayHold(hashOf(id, value));
      if (value < count) assert.ok(mayHold, `${id} ${value}`);
      else if (mayHold) mistaken += 1;
    }
    assert.ok(mistaken < 200, `${mistaken} of 10,000 absent values`);
  }
});

Deno.test("a filter leaves out the columns with the most values, and is left out where none fits", () => {
  const idsOf = (...columns: ColumnValues[]) => writeValueFilter(columns, FILE)?.ids;
  assert.deepEqual(idsOf(valuesOf(1, 80_000), valuesOf(2, 50), valuesOf(3, 0)), [2]);
  assert.deepEqual(idsOf(valuesOf(1, 8_000), valuesOf(2, 8_001), valuesOf(3, 5_000)), [3, 1]);
  assert.equal(idsOf(valuesOf(1, 13_108)), undefined);
  assert.equal(idsOf(valuesOf(1, 0)), undefined);
  assert.equal(idsOf(), undefined);
});

Deno.test("a filter with a flipped bit, or cut anywhere, is refused", () => {
  const bytes = writeValueFilter([valuesOf(3, 20)], FILE)?.bytes;
  assert.ok(bytes !== undefined);
  const isRefused = (broken: Uint8Array) =>
    assert.throws(() => new ValueFilter(broken), (error) => isOperatingError(error, "corrupt"));
  for (let at = 0; at < bytes.length; at += 1) {
    isRefused(bytes.subarray(0, at));
    const flipped = bytes.slice();
    flipped[at] = (flipped[at] as number) ^ 1 << at % 8;
    isRefused(flipped);
  }
});
