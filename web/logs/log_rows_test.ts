import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { flatMembers, jsonMembers } from "./json_members.ts";
import {
  fieldsOf,
  fieldText,
  isOneInstant,
  joinPages,
  levelOf,
  type LogRow,
  mergeRows,
  rowsOf,
  sentFieldsOf,
  unknownRows,
} from "./log_rows.ts";

const COLUMNS = ["timestamp_ns text", "timestamp", "timestamp_ns", "host", "raw", "attributes"];

function rows(...instants: readonly number[]): readonly LogRow[] {
  return rowsOf({
    columns: COLUMNS,
    rows: instants.map((ns) => [String(ns), `t${ns}`, ns, "h", `row of ${ns}`, null]),
  });
}

function rowWith(attributes: string | null): LogRow {
  const [row] = rowsOf({ columns: COLUMNS, rows: [["1", "t", 1, "h", "text", attributes]] });
  if (row === undefined) throw new Error("one row was given");
  return row;
}

const instantsOf = (list: readonly LogRow[]) => list.map((row) => Number(row.place.timestampNs));

Deno.test({
  name: "joinPages gives each row of a walk once, whatever instants are shared",
  fn() {
    const all = fc.array(fc.integer({ min: 100, max: 130 }), { minLength: 1, maxLength: 80 });
    fc.assert(fc.property(all, fc.integer({ min: 1, max: 7 }), (instants, size) => {
      const table = rows(...instants.toSorted((a, b) => b - a));
      let shown: readonly (typeof table)[number][] = table.slice(0, size);
      let limit = size;
      for (let isDone = table.length <= size; !isDone;) {
        const last = Number(shown.at(-1)?.place.timestampNs);
        const page = table.filter((row) => Number(row.place.timestampNs) <= last).slice(0, limit);
        isDone = page.length < limit;
        if (!isDone && isOneInstant(page)) limit *= 2;
        else shown = joinPages(shown, page);
      }
      deepStrictEqual(instantsOf(shown), instantsOf(table));
    }));
  },
});

Deno.test({
  name: "rowsOf gives equal rows of one instant keys of their own, the same each time",
  fn() {
    const keys = rows(5, 5, 5, 6).map(({ key }) => key);
    strictEqual(new Set(keys).size, 4);
    deepStrictEqual(rows(5, 5, 5, 6).map(({ key }) => key), keys);
  },
});

Deno.test({
  name: "unknownRows gives each new row once, though a search and the tail both bring it",
  fn() {
    const arrived = [...rows(4, 2), ...rows(5, 5, 4, 2)];
    deepStrictEqual(instantsOf(unknownRows(arrived, rows(2, 1))), [4, 5, 5]);
    deepStrictEqual(unknownRows(arrived, arrived), []);
  },
});

Deno.test({
  name: "mergeRows puts new rows where their instants belong",
  fn() {
    const instants = fc.array(fc.integer({ min: 1, max: 2_000 }), { maxLength: 30 });
    fc.assert(fc.property(instants, instants, (shown, added) => {
      const sorted = shown.toSorted((a, b) => b - a);
      deepStrictEqual(
        instantsOf(mergeRows(rows(...sorted), rows(...added))),
        [...shown, ...added].toSorted((a, b) => b - a),
      );
    }));
  },
});

Deno.test({
  name: "jsonMembers reads what JSON.parse reads, with numbers as they are written",
  fn() {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (given, wide) => {
        const text = JSON.stringify(given, null, wide ? 2 : 0);
        const read = Object.fromEntries(jsonMembers(text) ?? []);
        const wanted = Object.entries(JSON.parse(text)).filter(([, value]) => value !== null);
        deepStrictEqual(Object.keys(read).toSorted(), wanted.map(([name]) => name).toSorted());
        for (const [name, value] of wanted) {
          const found = read[name] ?? "";
          deepStrictEqual(typeof value === "string" ? found : JSON.parse(found), value);
        }
      }),
    );
    deepStrictEqual(
      jsonMembers('{"big":12345678901234567890,"whole":1.0,"none":null,"in":{"a":[1,{"b":"}"}]}}'),
      [["big", "12345678901234567890"], ["whole", "1.0"], ["in", '{"a":[1,{"b":"}"}]}']],
    );
    // SQL's attr_get has them so, and a filter by the value finds its row.
    deepStrictEqual(
      jsonMembers('{"high":1.5e+300,"low":-1e-7,"text":"1e+21"}'),
      [["high", "1.5e300"], ["low", "-1e-7"], ["text", "1e+21"]],
    );
    for (const text of ["[1]", "plain", "null", '"{}"', ""]) {
      strictEqual(jsonMembers(text), undefined, text);
    }
  },
});

Deno.test({
  name:
    "flatMembers names members within objects by their paths, and what no path calls as a whole",
  fn() {
    const cases: readonly (readonly [string, unknown])[] = [
      ['{"a":1,"in":{"b":"x","deep":{"c":1.0}}}', [["a", "1"], ["$.in.b", "x"], [
        "$.in.deep.c",
        "1.0",
      ]]],
      ['{"in":{"b":1,"odd name":2}}', [["$.in.b", "1"], ["in", '{"b":1,"odd name":2}']]],
      ['{"odd name":{"b":1}}', [["odd name", '{"b":1}']]],
      ['{"none":{},"null":{"a":null},"list":[{"a":1}],"text":"{\\"a\\":1}"}', [
        ["none", "{}"],
        ["null", '{"a":null}'],
        ["list", '[{"a":1}]'],
        ["text", '{"a":1}'],
      ]],
      // What is called like a path is not what a search for it finds.
      ['{"$.in.b":1,"in":{"b":2}}', [["$.in.b", "2"]]],
      ['{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":1}}}}}}}}}', [[
        "$.a.b.c.d.e.f.g.h",
        '{"i":1}',
      ]]],
      ["[1]", undefined],
    ];
    for (const [text, members] of cases) deepStrictEqual(flatMembers(text), members, text);
  },
});

Deno.test({
  name: "fieldsOf names an attribute as a search finds it, also beside a column of that name",
  fn() {
    const row = rowWith('{"host":"inner","service":"x","http.status":500,"gone":null}');
    deepStrictEqual(fieldsOf(row), [
      { name: "timestamp", text: "t" },
      { name: "host", text: "h" },
      { name: "raw", text: "text" },
      { name: "attributes.host", text: "inner" },
      { name: "attributes.service", text: "x" },
      { name: "http.status", text: "500" },
    ]);
    const nested = rowWith('{"cart":{"id":"c1","sum":{"all":1.50}}}');
    deepStrictEqual(fieldsOf(nested).slice(3), [
      { name: "$.cart.id", text: "c1" },
      { name: "$.cart.sum.all", text: "1.50" },
    ]);
    strictEqual(fieldText(nested, "$.cart.sum.all"), "1.50");
    strictEqual(fieldText(nested, "cart"), '{"id":"c1","sum":{"all":1.50}}');
    deepStrictEqual(sentFieldsOf(nested).at(-1), {
      name: "cart",
      text: '{"id":"c1","sum":{"all":1.50}}',
    });
  },
});

Deno.test({
  name: "levelOf takes the name before the number",
  fn() {
    deepStrictEqual(levelOf(rowWith('{"severity_text":"Warning","severity_number":17}')), {
      name: "Warning",
      severity: "warn",
    });
    deepStrictEqual(levelOf(rowWith('{"severity_number":18}')), {
      name: "error",
      severity: "error",
    });
    deepStrictEqual(levelOf(rowWith('{"level":"odd"}')), { name: "odd" });
    deepStrictEqual(levelOf(rowWith(null)), { name: "" });
  },
});
