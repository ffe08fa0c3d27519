/** Sums of cells against a map: any order of adding, taking out again, slices. */

import fc from "fast-check";
import assert from "node:assert/strict";
import {
  cellKey,
  type Cells,
  cellsBetween,
  cellsOf,
  differenceOfCells,
  partsOfKey,
  sumOfCells,
} from "./cells.ts";

type Entry = readonly [key: number, count: number];

const entries = fc.array(
  fc.tuple(
    fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer()).map((a) => cellKey(a, 5)),
    fc.integer({ min: 0, max: 4 }),
  ),
  { maxLength: 12 },
);

const cellsFrom = (list: readonly Entry[]) =>
  cellsOf(list.map(([key]) => key), list.map(([, count]) => count));

function plain(lists: readonly (readonly Entry[])[]): Entry[] {
  const counts = new Map<number, number>();
  for (const [key, count] of lists.flat()) counts.set(key, (counts.get(key) ?? 0) + count);
  return [...counts].filter(([, count]) => count !== 0).sort(([a], [b]) => a - b);
}

const listed = ({ keys, counts }: Cells): Entry[] =>
  Array.from(keys, (key, at) => [key, counts[at] as number]);

Deno.test("sumOfCells is what a map adds up to, and differenceOfCells takes any part out again", () => {
  fc.assert(
    fc.property(fc.array(entries, { maxLength: 6 }), fc.nat(), (lists, at) => {
      const sum = sumOfCells(lists.map(cellsFrom));
      assert.deepEqual(listed(sum), plain(lists));
      const part = lists[at % Math.max(1, lists.length)] ?? [];
      const rest = differenceOfCells(sum, cellsFrom(part));
      assert(rest !== undefined);
      assert.deepEqual(listed(rest), plain(lists.filter((list) => list !== part)));
    }),
  );
});

Deno.test("differenceOfCells of what is not there is undefined", () => {
  const all = cellsFrom([[1, 2]]);
  for (const part of [[[1, 3]], [[2, 1]]] satisfies Entry[][]) {
    assert.equal(differenceOfCells(all, cellsFrom(part)), undefined);
  }
});

Deno.test("cellsBetween takes the keys of a range, its end not among them", () => {
  fc.assert(
    fc.property(entries, fc.integer(), fc.integer(), (list, from, end) => {
      const found = listed(cellsBetween(cellsFrom(list), cellKey(from, 0), cellKey(end, 0)));
      const wanted = plain([list]).filter(([key]) => {
        const { a } = partsOfKey(key);
        return a >= from && a < end;
      });
      assert.deepEqual(found, wanted);
    }),
  );
});

Deno.test("partsOfKey gives back both parts, of minutes before 1970, too", () => {
  for (const [a, b] of [[0, 0], [-1, 0], [-1, 1_048_575], [4_000_000_000, 7]] as const) {
    assert.deepEqual(partsOfKey(cellKey(a, b)), { a, b });
  }
});
