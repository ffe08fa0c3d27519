import fc from "fast-check";
import assert from "node:assert/strict";
import { textOf, utf8 } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import type { ColumnData } from "./batch.ts";
import { ByteBuilder, COLUMN_BYTES_MAX } from "./byte_builder.ts";
import {
  firstRowNotUtf8,
  Int64ColumnBuilder,
  type LendingBuilder,
  RunColumnBuilder,
  StringColumnBuilder,
} from "./column_builders.ts";
import { rowsOf } from "./rows.ts";

function texts(column: ColumnData): unknown[] {
  const rows = (column.offsets?.length ?? 0) - 1;
  const schema = {
    columns: [{ id: 1, name: "s", type: "string", required: false }],
    tags: [],
  } as const;
  return rowsOf({ schema, rows, columns: [column] }).map((row) => row.s);
}

Deno.test({
  name: "StringColumnBuilder gives back texts and nulls, and starts anew after finish",
  fn() {
    const builder = new StringColumnBuilder();
    const values = fc.array(fc.option(fc.string({ unit: "grapheme", maxLength: 90 })), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(values, (rows) => {
        for (const value of rows) {
          if (value === null) builder.null();
          else builder.text(value);
        }
        const column = builder.finish();
        assert.deepEqual(texts(column), rows);
        assert.equal(column.nullCount, rows.filter((value) => value === null).length);
        assert.equal(column.validity === null, column.nullCount === 0);
      }),
    );
  },
});

Deno.test({
  name: "RunColumnBuilder gives back every row, however values repeat",
  fn() {
    const builder = new RunColumnBuilder();
    const constants = [utf8(""), utf8("a"), utf8("host-7"), utf8("ü")];
    const step = fc.record({
      pick: fc.nat(3),
      copy: fc.boolean(),
      times: fc.integer({ min: 1, max: 2000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), (steps) => {
        const expected: string[] = [];
        const scratch = new Uint8Array(16);
        for (const { pick, copy, times } of steps) {
          const bytes = constants[pick] ?? utf8("");
          for (let i = 0; i < times; i += 1) {
            if (copy) {
              scratch.set(bytes);
              builder.copyOf(scratch, bytes.length);
              scratch.fill(0x78);
            } else builder.value(bytes);
            expected.push(["", "a", "host-7", "ü"][pick] ?? "");
          }
        }
        assert.deepEqual(texts(builder.finish()), expected);
      }),
      { numRuns: 50 },
    );
  },
});

const NOT_UTF8: readonly { readonly values: readonly number[][]; readonly row: number }[] = [
  { values: [[0x61], [0xc3, 0xbc]], row: -1 },
  { values: [[], []], row: -1 },
  { values: [[0x61], [0xff]], row: 1 },
  { values: [[0xc3], [0xbc]], row: 0 },
  { values: [[0xc3, 0xbc], [0xbc]], row: 1 },
  { values: [[0xed, 0xa0, 0x80]], row: 0 },
  { values: [[0x61], [0xe6, 0x97], [0xa5]], row: 1 },
  { values: [[0xe6, 0x97, 0xa5], [], [0xc0, 0x80]], row: 2 },
];

Deno.test({
  name: "firstRowNotUtf8 finds the row, also when the buffer as a whole is UTF-8",
  fn() {
    for (const { values, row } of NOT_UTF8) {
      const builder = new StringColumnBuilder();
      for (const value of values) builder.bytes(Uint8Array.from(value));
      assert.equal(firstRowNotUtf8(builder.finish()), row, JSON.stringify(values));
    }
  },
});

Deno.test({
  name: "ByteBuilder refuses to outgrow its limit",
  fn() {
    const out = new ByteBuilder();
    assert.throws(
      () => out.reserve(COLUMN_BYTES_MAX + 1),
      (error: unknown) => isOperatingError(error, "too_large"),
    );
  },
});

Deno.test({
  name: "StringColumnBuilder lends its values: they stay until given back, then serve again",
  fn() {
    const builder = new StringColumnBuilder();
    builder.text("first");
    const first = builder.lend();
    builder.text("second");
    const second = builder.lend();
    assert.deepEqual([textOf(first.values), textOf(second.values)], ["first", "second"]);
    builder.giveBack(first);
    builder.text("third");
    const third = builder.lend();
    assert.equal(textOf(second.values), "second");
    assert.equal(textOf(third.values), "third");
    builder.text("fourth");
    assert.equal(builder.finish().values.buffer === first.values.buffer, false);
    builder.text("fifth");
    assert.equal(builder.lend().values.buffer, first.values.buffer);
  },
});

/** Writes the same rows into a builder of each kind. */
const LENDING: readonly {
  name: string;
  make: () => LendingBuilder & { finish(): ColumnData };
  write: (builder: never, row: number) => void;
}[] = [
  {
    name: "StringColumnBuilder",
    make: () => new StringColumnBuilder(),
    write: (builder: StringColumnBuilder, row) =>
      row % 7 === 3 ? builder.null() : builder.text("x".repeat(row % 5)),
  },
  {
    name: "RunColumnBuilder",
    make: () => new RunColumnBuilder(),
    write: (builder: RunColumnBuilder, row) =>
      builder.valueOrNull(row % 7 === 3 ? null : utf8(`run ${row >> 3}`)),
  },
  {
    name: "Int64ColumnBuilder",
    make: () => new Int64ColumnBuilder(),
    write: (builder: Int64ColumnBuilder, row) =>
      row % 7 === 3 ? builder.null() : builder.bigint(BigInt(row) << 33n),
  },
];

for (const { name, make, write } of LENDING) {
  Deno.test({
    name: `${name}.lend() gives what finish() gives, unchanged until it is given back`,
    fn() {
      const lending = make();
      const copying = make();
      const rowsOf = (rows: number) => {
        for (let row = 0; row < rows; row += 1) {
          write(lending as never, row);
          write(copying as never, row);
        }
        return { lent: lending.lend(), copied: copying.finish() };
      };
      // Longer than the first buffers, then shorter, and without any row.
      const outstanding = [3_000, 10, 0, 2_500].map(rowsOf);
      for (const { lent, copied } of outstanding) assert.deepEqual(plain(lent), plain(copied));
      for (const { lent } of outstanding) lending.giveBack(lent);
      const again = [5, 3_100, 0, 7].map(rowsOf);
      for (const { lent, copied } of again) assert.deepEqual(plain(lent), plain(copied));
      const before = new Set(outstanding.map(({ lent }) => lent.values.buffer));
      assert.ok(again.some(({ lent }) => before.has(lent.values.buffer)), "memory is used again");
    },
  });
}

function plain({ validity, nullCount, offsets, values }: ColumnData) {
  return {
    validity: validity && [...validity],
    nullCount,
    offsets: offsets && [...offsets],
    values: [...values],
  };
}
