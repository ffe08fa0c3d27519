import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { cellAfterKey } from "./active_cell.ts";
import { chartOfKind, chooseChart } from "./chart_choice.ts";
import { chartData } from "./chart_data.ts";
import { type ColumnKind, resultColumns } from "./column_kind.ts";
import { parseExact } from "../api/exact_json.ts";
import { sortedPlaces } from "./sort_rows.ts";
import { cellText, csvFile, ndjsonFile, readableText } from "./value_text.ts";

Deno.test("parseExact keeps each digit of long numbers, and leaves texts alone", () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ["[1, 2.5, 9007199254740991]", [1, 2.5, 9007199254740991]],
    ["[1795132800000000001]", ["1795132800000000001"]],
    ["[-170141183460469231731687303715884105728]", ["-170141183460469231731687303715884105728"]],
    ["[0.12345678901234567890, 1000000000000000]", ["0.12345678901234567890", 1000000000000000]],
    ["[1.5000000000000000, 1e300]", [1.5, 1e300]],
    [String.raw`["1795132800000000001 \" 1795132800000000001"]`, [
      '1795132800000000001 " 1795132800000000001',
    ]],
    ['{"1795132800000000001":1}', { "1795132800000000001": 1 }],
  ];
  for (const [json, value] of cases) deepStrictEqual(parseExact(json), value, json);
});

Deno.test("resultColumns tells kinds by types, and by values where there are none", () => {
  const kinds = (types: readonly string[]) =>
    resultColumns({ columns: types, types, rows: [] }).map(({ kind }) => kind);
  deepStrictEqual(
    kinds(["BIGINT", "DECIMAL(18,3)", "UBIGINT", "DOUBLE", "HUGEINT", "FLOAT"]),
    Array<ColumnKind>(6).fill("number"),
  );
  deepStrictEqual(kinds(["TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "DATE", "TIMESTAMP"]), [
    ...["time", "time", "time", "time"],
  ]);
  deepStrictEqual(
    kinds(["VARCHAR", "BOOLEAN", "INTEGER[]", "STRUCT(a INTEGER)", "MAP(VARCHAR, BIGINT)", "TIME"]),
    ["text", "bool", "nested", "nested", "nested", "text"],
  );
  const untyped = resultColumns({
    columns: ["a", "b", "c", "d", "e"],
    rows: [[1, "2026-11-20T00:00:00Z", "x", null, [1]], [null, null, null, null, null]],
  });
  deepStrictEqual(untyped.map(({ kind }) => kind), ["number", "time", "text", "text", "nested"]);
});

Deno.test("sortedPlaces sorts numbers by value, keeps equal rows, and puts nulls last", () => {
  const rows = [["10"], [9], [null], ["170141183460469231731687303715884105728"], [9]];
  const sort = (isDescending: boolean) => [
    ...sortedPlaces(rows, { column: 0, isDescending }, "number"),
  ];
  deepStrictEqual(sort(false), [1, 4, 0, 3, 2]);
  deepStrictEqual(sort(true), [3, 0, 1, 4, 2]);
  deepStrictEqual([...sortedPlaces([["b"], ["a"]], { column: 0, isDescending: false }, "text")], [
    ...[1, 0],
  ]);
});

const columnsOf = (...kinds: readonly ColumnKind[]) =>
  kinds.map((kind, at) => ({ name: `c${at}`, type: undefined, kind }));

Deno.test("chooseChart follows the columns", () => {
  const cases: readonly (readonly [readonly ColumnKind[], number, unknown])[] = [
    [["text"], 5, undefined],
    [["number"], 0, undefined],
    [["number", "number"], 1, { kind: "number", x: undefined, y: [0, 1], by: undefined }],
    [["time", "number", "number"], 5, { kind: "line", x: 0, y: [1, 2], by: undefined }],
    [["number", "text", "time"], 5, { kind: "line", x: 2, y: [0], by: 1 }],
    [["text", "number"], 5, { kind: "bar", x: 0, y: [1], by: undefined }],
    [["text", "bool", "number"], 5, { kind: "bar", x: 0, y: [2], by: 1 }],
    [["number", "number"], 5, { kind: "scatter", x: 0, y: [1], by: undefined }],
    [["number"], 5, { kind: "bar", x: undefined, y: [0], by: undefined }],
  ];
  for (const [kinds, rows, chart] of cases) {
    deepStrictEqual(chooseChart(columnsOf(...kinds), rows), chart, kinds.join());
  }
  deepStrictEqual(chartOfKind("bar", columnsOf("time", "number")), {
    ...{ kind: "bar", x: 0, y: [1], by: undefined },
  });
  deepStrictEqual(chartOfKind("scatter", columnsOf("time", "number")), {
    ...{ kind: "scatter", x: 0, y: [1], by: undefined },
  });
});

Deno.test("chartData splits into series, sorts times, and adds what shares a place", () => {
  const at = (minute: number) => `2026-11-20T00:0${minute}:00.000000Z`;
  const rows = [
    [at(2), "a", 1],
    [at(1), "b", "12345678901234567890"],
    [at(1), "b", 1],
    [null, "a", 9],
    [at(1), null, 5],
  ];
  const data = chartData(
    { kind: "line", x: 0, y: [2], by: 1 },
    columnsOf("time", "text", "number"),
    rows,
  );
  deepStrictEqual(data.xs, [1795132860, 1795132920]);
  deepStrictEqual(data.isTime, true);
  deepStrictEqual(data.series, [
    { name: "a", values: [null, 1] },
    { name: "b", values: [12345678901234567000, null] },
    { name: "null", values: [5, null] },
  ]);
});

Deno.test("chartData leaves the smallest series and the last bars out, and says how many", () => {
  const many = Array.from({ length: 60 }, (_, n) => [`k${n}`, n]);
  const bars = chartData(
    { kind: "bar", x: 0, y: [1], by: undefined },
    columnsOf("text", "number"),
    many,
  );
  strictEqual(bars.labels?.length, 50);
  strictEqual(bars.leftOut, 10);
  const lines = chartData(
    { kind: "line", x: undefined, y: [1], by: 0 },
    columnsOf("text", "number"),
    many,
  );
  deepStrictEqual(
    lines.series.map(({ name }) => name),
    [52, 53, 54, 55, 56, 57, 58, 59].map((n) => `k${n}`),
  );
  strictEqual(lines.leftOut, 52);
  const points = chartData(
    { kind: "scatter", x: 0, y: [1], by: undefined },
    columnsOf("number", "number"),
    [[3, 1], [1, null], [1, 2]],
  );
  deepStrictEqual(points.xs, [1, 1, 3]);
  deepStrictEqual(points.series[0]?.values, [null, 2, 1]);
});

Deno.test("values are shown short, read whole, and written as files", () => {
  strictEqual(cellText("a\nb"), "a b");
  strictEqual(cellText("x".repeat(1_000)).length, 301);
  strictEqual(cellText(-0), "-0");
  strictEqual(cellText([1, { a: null }]), '[1,{"a":null}]');
  strictEqual(readableText('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  strictEqual(readableText("{no json"), "{no json");
  const rows = [['a "b"', 1.5, null], ["", "12345678901234567890", [1]]];
  strictEqual(
    csvFile(["x", "y", "z"], rows),
    '"x","y","z"\r\n"a ""b""",1.5,\r\n"","12345678901234567890","[1]"\r\n',
  );
  strictEqual(
    ndjsonFile(["x", "x", "z"], rows.slice(0, 1)),
    '{"x":"a \\"b\\"","x_1":1.5,"z":null}\n',
  );
});

Deno.test("cellAfterKey moves within the result", () => {
  const size = { rows: 30, columns: 3 };
  deepStrictEqual(cellAfterKey("ArrowDown", undefined, size), { row: 0, column: 0 });
  deepStrictEqual(cellAfterKey("ArrowLeft", { row: 0, column: 0 }, size), { row: 0, column: 0 });
  deepStrictEqual(cellAfterKey("PageDown", { row: 15, column: 1 }, size), { row: 29, column: 1 });
  deepStrictEqual(cellAfterKey("End", { row: 1, column: 0 }, size), { row: 1, column: 2 });
  strictEqual(cellAfterKey("a", { row: 0, column: 0 }, size), undefined);
  strictEqual(cellAfterKey("ArrowDown", undefined, { rows: 0, columns: 3 }), undefined);
});
