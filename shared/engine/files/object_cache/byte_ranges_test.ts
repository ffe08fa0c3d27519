import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { type ByteRange, joined, pieces, rangeBytes, RangeSet } from "./byte_ranges.ts";

const RANGE = fc.tuple(fc.nat(60), fc.nat(20))
  .map(([start, length]): ByteRange => ({ start, end: start + length }));

function bytesOf(ranges: readonly ByteRange[]): Set<number> {
  return new Set(
    ranges.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, at) => start + at)),
  );
}

Deno.test({
  name: "RangeSet is a set of bytes in the fewest ranges",
  fn: () =>
    fc.assert(fc.property(fc.array(RANGE, { maxLength: 12 }), RANGE, (added, asked) => {
      const set = new RangeSet();
      const model = new Set<number>();
      for (const range of added) {
        const before = model.size;
        for (const byte of bytesOf([range])) model.add(byte);
        strictEqual(set.add(range), model.size - before);
      }
      strictEqual(set.bytes, model.size);
      deepStrictEqual(bytesOf(set.ranges), new Set([...model].sort((a, b) => a - b)));
      set.ranges.forEach(({ start }, at) => ok(start > (set.ranges[at - 1]?.end ?? -1)));
      const missing = set.missing(asked);
      const expected = [...bytesOf([asked])].filter((byte) => !model.has(byte));
      deepStrictEqual([...bytesOf(missing)], expected);
      strictEqual(set.holds(asked), expected.length === 0);
    })),
});

Deno.test({
  name: "joined keeps every byte and adds only gaps that it may",
  fn: () =>
    fc.assert(fc.property(fc.array(RANGE), fc.nat(6), (ranges, gapMax) => {
      const result = joined(ranges, (left, right) => right.start - left.end <= gapMax);
      const bytes = bytesOf(result);
      for (const byte of bytesOf(ranges)) ok(bytes.has(byte));
      strictEqual(rangeBytes(result), bytes.size, "they do not overlap");
      result.forEach(({ start }, at) => {
        if (at > 0) ok(start - (result[at - 1]?.end ?? 0) > gapMax);
      });
    })),
});

Deno.test({
  name: "pieces are the range again, none longer than asked",
  fn: () => {
    deepStrictEqual(pieces({ start: 5, end: 15 }, 4), [
      { start: 5, end: 9 },
      { start: 9, end: 13 },
      { start: 13, end: 15 },
    ]);
    deepStrictEqual(pieces({ start: 5, end: 5 }, 4), []);
  },
});
