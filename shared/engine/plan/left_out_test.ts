import { deepStrictEqual } from "node:assert/strict";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { present } from "../../base/assert.ts";
import { unaskedColumn } from "../../schema/promoted.ts";
import { lacks, neededColumns } from "./left_out.ts";

const LEVEL = present(unaskedColumn("level"));

const NEEDED: readonly (readonly [
  what: string,
  columns: readonly string[],
  attributes: readonly string[],
  needed: readonly string[],
])[] = [
  ["columns that are named", ["host", "no_column"], [], ["host"]],
  ["attributes, for one that no column holds", [], ["level", "code"], ["attributes"]],
  ["no attributes, for one that a column holds", [], ["level"], []],
];

for (const [what, columns, attributes, needed] of NEEDED) {
  for (const change of [(name: string) => name, (name: string) => name.toUpperCase()]) {
    Deno.test(`neededColumns() are ${what}: ${change("case")}`, () => {
      const all = EVENTS_SCHEMA.columns.map((column) => ({ ...column, name: change(column.name) }));
      const { ids } = neededColumns({ columns: all, tags: [] }, {
        ...{ columns: new Set(columns), attributes: new Set(attributes), promoted: [LEVEL] },
      });
      const names = all.filter(({ id }) => ids.has(id)).map(({ name }) => name);
      deepStrictEqual(names, needed.map(change));
    });
  }
}

Deno.test("lacks() wants attributes of rows of which no column says all of a named one", () => {
  const leftOut = EVENTS_SCHEMA.columns.filter(({ name }) => name === "attributes");
  const needed = { ids: new Set<number>(), holders: [[LEVEL.id]] };
  deepStrictEqual(lacks({ complete: new Set(), leftOut }, needed), true);
  deepStrictEqual(lacks({ complete: new Set([LEVEL.id]), leftOut }, needed), false);
  deepStrictEqual(lacks({ complete: new Set([LEVEL.id]), leftOut }, undefined), true);
  deepStrictEqual(lacks({ complete: new Set() }, undefined), false);
});
