import { strict as assert } from "node:assert";
import { displayWidth } from "./display_width.ts";
import { type JsonValue, parseExactJson } from "./exact_json.ts";
import { COLUMN_WIDTH_MIN, fitWidths, layoutTable, type TableStyle } from "./table.ts";

interface Golden {
  readonly name: string;
  readonly columns: readonly string[];
  /** JSON text, as it comes from a server. */
  readonly rows: string;
  readonly style: TableStyle;
  readonly lines: readonly string[];
}

const GOLDENS: readonly Golden[] = [
  {
    name: "numbers right, texts left, every digit kept, NULL does not break a number column",
    columns: ["host", "n", "big"],
    rows: '[["web-1",42,9223372036854775807],["db",null,-1],["",7.50,0]]',
    style: { color: false },
    lines: [
      "host  |    n |                 big",
      "------+------+--------------------",
      "web-1 |   42 | 9223372036854775807",
      "db    | NULL |                  -1",
      "      | 7.50 |                   0",
    ],
  },
  {
    name: "a text NULL differs from none, a mixed column is left, no space at the end of a line",
    columns: ["v", "w"],
    rows: '[["NULL",1],[null,"x"],[true,{"a":[1,9007199254740993]}]]',
    style: { color: false },
    lines: [
      "v      | w",
      "-------+---------------------------",
      '"NULL" | 1',
      "NULL   | x",
      'true   | {"a":[1,9007199254740993]}',
    ],
  },
  {
    name: "wide and combining characters stay aligned; controls are escaped",
    columns: ["名前", "n"],
    rows: '[["漢字",1],["e\u0301a",2],["a\\nb",3],["👍🏽",4]]',
    style: { color: false },
    lines: [
      "名前 | n",
      "-----+--",
      "漢字 | 1",
      "e\u0301a   | 2",
      "a\\nb | 3",
      "👍🏽   | 4",
    ],
  },
  {
    name: "a terminal gets cells cut to its width, names bold, NULL dim",
    columns: ["host", "raw"],
    rows: '[["web-1","0123456789abcdefghij"],[null,"漢字漢字漢字漢字"]]',
    style: { color: true, width: 20 },
    lines: [
      "\x1b[1mhost\x1b[22m  | \x1b[1mraw\x1b[22m",
      "------+-------------",
      "web-1 | 0123456789a…",
      "\x1b[2mNULL\x1b[22m  | 漢字漢字漢…",
    ],
  },
  {
    name: "no rows",
    columns: ["a", "bb"],
    rows: "[]",
    style: { color: false },
    lines: [
      "a | bb",
      "--+---",
    ],
  },
  { name: "no columns", columns: [], rows: "[]", style: { color: false }, lines: [] },
];

Deno.test({
  name: "layoutTable draws each golden table",
  fn() {
    for (const { name, columns, rows, style, lines } of GOLDENS) {
      const parsed = parseExactJson(rows) as JsonValue[][];
      assert.deepEqual(layoutTable(columns, parsed, style).lines(), lines, name);
    }
  },
});

Deno.test({
  name: "fitWidths cuts the widest columns to one width and no further than needed",
  fn() {
    const cases: [number[], number | undefined, number[]][] = [
      [[10, 200], undefined, [10, 200]],
      [[10, 20], 33, [10, 20]],
      [[10, 200], 80, [10, 67]],
      [[10, 200, 300], 80, [10, 32, 32]],
      [[30, 30, 30], 20, [COLUMN_WIDTH_MIN, COLUMN_WIDTH_MIN, COLUMN_WIDTH_MIN]],
      [[2, 30, 30], 20, [2, COLUMN_WIDTH_MIN, COLUMN_WIDTH_MIN]],
    ];
    for (const [natural, lineWidth, expected] of cases) {
      assert.deepEqual(fitWidths(natural, lineWidth), expected);
    }
  },
});

Deno.test({
  name: "layoutTable never exceeds a terminal that has room for its columns",
  fn() {
    const cells = [
      "",
      "x",
      "漢".repeat(40),
      "👨‍👩‍👧".repeat(30),
      "y".repeat(200),
      "e\u0301".repeat(90),
    ];
    const rows = cells.map((cell) => [cell, cells.indexOf(cell), cell]);
    for (let width = 3 * COLUMN_WIDTH_MIN + 6; width < 120; width++) {
      const table = layoutTable(["a", "b", "c"], rows, { color: false, width });
      for (const line of table.lines()) assert.ok(displayWidth(line) <= width, line);
    }
  },
});
