import assert from "node:assert/strict";
import { readLogLines } from "./log_lines.ts";
import { idOf, isRare, RARE_ROWS, RARE_WORD } from "./row_numbers.ts";
import { type AttributeMap, RESOURCE_ROWS } from "./shape.ts";
import { buildShape, SHAPE_NAMES } from "./shapes.ts";

const LINES = await readLogLines(undefined);

Deno.test({
  name: "readLogLines without a folder: 2,000 lines of each of eight systems, all places filled",
  fn: () => {
    const counts = Object.groupBy(LINES, ({ system }) => system);
    assert.deepEqual(Object.values(counts).map((lines) => lines?.length), Array(8).fill(2_000));
    assert.deepEqual(LINES.filter(({ text }) => /[{}]/.test(text)), []);
    for (const text of ["authentication failure", "henticat", "ssh2"]) {
      assert.ok(LINES.some((line) => line.text.includes(text)), text);
    }
  },
});

Deno.test({
  name: "readLogLines reads the lines of each file *.log in the order of names",
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${folder}/b_2k.log`, "three\r\n\n");
      await Deno.writeTextFile(`${folder}/a.log`, "one\ntwo");
      await Deno.writeTextFile(`${folder}/LICENSE`, "no line");
      assert.deepEqual(await readLogLines(folder), [
        { system: "a", text: "one" },
        { system: "a", text: "two" },
        { system: "b", text: "three" },
      ]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "template services have seven attributes, wide events 60 in nested objects",
  fn: () => {
    const leaves = (attributes: AttributeMap): number =>
      Object.values(attributes).reduce<number>(
        (sum, value) => sum + (typeof value === "object" ? leaves(value) : 1),
        0,
      );
    assert.equal(leaves(buildShape("services", LINES).template(7).attributes), 7);
    const { attributes } = buildShape("wide", LINES).template(7);
    assert.equal(leaves(attributes), 60);
    assert.ok(Object.values(attributes).every((value) => typeof value === "object"));
  },
});

for (const name of SHAPE_NAMES) {
  const shape = buildShape(name, LINES);

  Deno.test({
    name: `template ${name}: a resource is shared by the rows that are sent with it`,
    fn: () => {
      for (let first = 0; first < 1_000; first += RESOURCE_ROWS) {
        const { service, host } = shape.template(first);
        for (let i = 1; i < RESOURCE_ROWS; i += 1) {
          const row = shape.template(first + i);
          assert.deepEqual({ service: row.service, host: row.host }, { service, host });
        }
      }
    },
  });

  Deno.test({
    name: `template ${name}: some rows are the newest that are asked for, and it divides requests`,
    fn: () => {
      const { service, severity } = shape.subject.newest;
      const found = Array.from({ length: 10_000 }, (_, i) => shape.template(i))
        .filter((row) => row.service === service && row.severity.text === severity);
      assert.ok(found.length >= 40, `${found.length} rows`);
      for (const batch of [50, 500, 5_000]) assert.equal(shape.templateRows % batch, 0);
    },
  });
}

Deno.test({
  name: "idOf is different for each row, but for ten rows of one word",
  fn: () => {
    const total = 50_000;
    const ids = Array.from({ length: total }, (_, row) => idOf(row, total));
    assert.equal(ids.filter((id) => id === RARE_WORD).length, RARE_ROWS);
    assert.equal(new Set(ids).size, total - RARE_ROWS + 1);
    assert.ok(ids.every((id) => id.length === RARE_WORD.length));
    assert.ok(!isRare(total + total / 20, total), "rows behind the set are not rare");
  },
});
