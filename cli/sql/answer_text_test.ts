import { strict as assert } from "node:assert";
import { CUT_WIDTH_MIN, type Expanded, renderAnswer } from "./answer_text.ts";
import { type JsonValue, parseExactJson } from "./exact_json.ts";

const LONG = "x".repeat(50);

Deno.test({
  name: "renderAnswer writes a line per value when a table would cut below the readable width",
  fn() {
    const roomy = CUT_WIDTH_MIN + " | 1".length;
    const cases: [Expanded | undefined, number | undefined, "table" | "records"][] = [
      [undefined, undefined, "table"],
      ["auto", 200, "table"],
      ["auto", roomy, "table"],
      ["auto", roomy - 1, "records"],
      ["off", 20, "table"],
      ["on", 200, "records"],
      ["on", undefined, "records"],
    ];
    for (const [expanded, width, expected] of cases) {
      const lines = renderAnswer(["a", "b"], [[LONG, 1]], { expanded, width, color: false });
      const actual = lines[0]?.startsWith("row 1 -") ? "records" : "table";
      assert.equal(actual, expected, `${expanded} at ${width}`);
      if (actual === "records") assert.deepEqual(lines.slice(1), [`a | ${LONG}`, "b | 1"]);
    }
  },
});

Deno.test({
  name: "renderAnswer names each row, keeps values whole and tells NULL from its text",
  fn() {
    const rows = parseExactJson('[["漢字",9223372036854775807],[null,"NULL"]]') as JsonValue[][];
    const style = { expanded: "on", width: 12 } as const;
    assert.deepEqual(renderAnswer(["名前", "n"], rows, { ...style, color: false }), [
      "row 1 ------",
      "名前 | 漢字",
      "n    | 9223372036854775807",
      "row 2 ------",
      "名前 | NULL",
      'n    | "NULL"',
    ]);
    assert.equal(
      renderAnswer(["n"], rows.slice(1), { ...style, color: true })[1],
      "\x1b[1mn\x1b[22m | \x1b[2mNULL\x1b[22m",
    );
    assert.deepEqual(renderAnswer(["n"], [], { ...style, color: false }), ["no rows"]);
  },
});

Deno.test({
  name: "renderAnswer draws a plan in its lines, and obeys nothing in them",
  fn() {
    const rows = [["tier1: 2 counts\n┌───┐\n│ \x1b[2J │\n└───┘\n"]];
    const lines = ["tier1: 2 counts", "┌───┐", "│ \\x1b[2J │", "└───┘"];
    assert.deepEqual(renderAnswer(["plan"], rows, { width: 10, color: true }), lines);
    assert.equal(renderAnswer(["plan"], [...rows, ...rows], { color: false }).length, 4);
    assert.equal(renderAnswer(["raw"], rows, { color: false }).length, 3);
  },
});
