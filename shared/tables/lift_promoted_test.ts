import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { batchOfRows, type ColumnValue, type RowObject, rowsOf } from "../columns/rows.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import {
  attributeOf,
  parsePromotion,
  promotedPlaces,
  unaskedColumn,
  withPromoted,
} from "../schema/promoted.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import { EngineLab } from "../testing/engine_lab.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { liftPromoted } from "./lift_promoted.ts";

const SEEDS = Number(Deno.env.get("SVC_LIFT_SEEDS") ?? 12);

const FLAT = ["a", "b.c", "http.status", "n", "x"];
/** Attributes within nested objects. `a` and `n` are called like flat ones. */
const NESTED = ["$.o.a", "$.o.n", "$.o.p.b", "$.a.n"];
const NAMES = [...FLAT, ...NESTED];
/** Names that no column is of. */
const OTHERS = ["", "é", 'q"', "\n", "d/e", "f~g", "A", "漢", "\\u0061", "aa"];
const COLUMNS: readonly Column[] = [
  ...NAMES.flatMap((name) =>
    (["text", "integer", "number"] as const).map((kind) => present(unaskedColumn(name, kind)))
  ),
  ...["a:string", "b.c:int", "n:double", "x:bool", "http.status:long", "$.o.n:int"].map(
    parsePromotion,
  ),
];
const SCHEMA = withPromoted(EVENTS_SCHEMA, COLUMNS);

const TEXTS = [
  ...['"x"', '""', '"é\\n"', '"\\u00e9"', '"\\""', '"a\\/b"', '"\\ud83d\\ude42"', '"🙂"', '"7"'],
  ...[
    '"-0"',
    '"007"',
    '"true"',
    '"false"',
    '"9223372036854775807"',
    '"1.5"',
    '"null"',
    '"\\u0000"',
  ],
  `"${"long".repeat(100)}"`,
];
const INTEGERS = [
  ...["0", "7", "-7", "200", "2147483647", "2147483648", "-2147483648", "-2147483649"],
  ...["999999999999999", "1234567890123456789", "9223372036854775807", "-9223372036854775808"],
];
const NUMBERS = [
  ...["0.5", "1.5", "-2.25", "12.3456", "0.001", "0.0001", "100000.5", "123456789.25", "1.0"],
  ...["-1.0", "99999999999999.5", "0.1", "0.3"],
];
const ODD_NUMBERS = [
  ...["-0", "-0.0", "0.0", "1e3", "1E3", "1e-7", "0.00001", "0.000001", "1.50", "1.10e1", "2E+2"],
  ...["9223372036854775808", "18446744073709551615", "-9223372036854775809", "1e22", "1e300"],
  ...["12345678901234567890123", "0.1234567890123456789", "123456789012345.5", "1e400", "5e-324"],
];
const OTHER_VALUES = ["true", "false", "null", "{}", '{"a":[1,"]}"]}', "[]", '[1, {"x":null}]'];
/** Not JSON to some or all readers. */
const BAD_VALUES = [
  ...[
    "",
    "01",
    "1.",
    ".5",
    "+1",
    "NaN",
    "Infinity",
    "tru",
    '"\\x"',
    '"\\ud800"',
    '"\\ud800\\u0041"',
  ],
  ...['"\\udc00"', '"a\u0001"', "[1,]", '{"a":1,}', '{"a"}', "'x'", '"open', "[1", "1 2", "nul"],
];
const ODD_OBJECTS = ["[1]", '"s"', "7", "null", "[]", "", "  ", "{", '{"a":1', '{"a":1}}', "{,}"];

/** Mostly one kind of value by name, so that columns are complete in some batches. */
function batchTexts(random: SeededRandom): (string | null)[] {
  const pools = new Map(NAMES.map((name) => {
    const base = [TEXTS, INTEGERS, NUMBERS, [...INTEGERS, ...NUMBERS]][random.below(4)];
    const more = random.chance(0.3) ? [ODD_NUMBERS, TEXTS, OTHER_VALUES][random.below(3)] : [];
    return [name, [...base ?? [], ...more ?? []]];
  }));
  const isOdd = random.chance(0.3);
  const shuffled = random.chance(0.5);
  return Array.from({ length: 1 + random.below(60) }, () => {
    if (random.chance(0.05)) return null;
    if (isOdd && random.chance(0.1)) return one(random, ODD_OBJECTS);
    const valueOf = (name: string) => {
      const plain = random.chance(0.05) ? "null" : one(random, pools.get(name) ?? TEXTS);
      return isOdd && random.chance(0.02) ? one(random, BAD_VALUES) : plain;
    };
    const objectOf = (members: Readonly<Record<string, () => string>>) => {
      const names = Object.keys(members).filter(() => !random.chance(0.1));
      if (shuffled) names.sort(() => random.below(3) - 1);
      if (random.chance(0.1)) names.push(one(random, Object.keys(members)));
      return `{${
        names.map((name) => memberText(random, name, members[name]?.() ?? "")).join(",")
      }}`;
    };
    const other = one(random, OTHERS);
    return objectOf({
      ...Object.fromEntries(FLAT.map((name) => [name, () => valueOf(name)])),
      ...random.chance(0.5) ? {} : { [other]: () => valueOf(other) },
      o: () =>
        isOdd && random.chance(0.1) ? valueOf("o") : objectOf({
          a: () => valueOf("$.o.a"),
          n: () => valueOf("$.o.n"),
          z: () => valueOf("z"),
          p: () => objectOf({ b: () => valueOf("$.o.p.b"), c: () => valueOf("c") }),
        }),
      ...isOdd && random.chance(0.2) ? { a: () => objectOf({ n: () => valueOf("$.a.n") }) } : {},
    });
  });
}

function memberText(random: SeededRandom, name: string, value: string): string {
  const quoted = name === "\\u0061" ? '"\\u0061"' : JSON.stringify(name);
  const blank = random.chance(0.1) ? one(random, [" ", "\n", "\t", "\r\n"]) : "";
  return `${blank}${quoted}${blank}:${blank}${value}${blank}`;
}

function one<T>(random: SeededRandom, of: readonly T[]): T {
  return of[random.below(of.length)] as T;
}

function eventRow(n: number, attributes: string | null): RowObject {
  const common = { host: "h", source: "s", sourcetype: "t", index: "main", raw: "" };
  return { timestamp: BigInt(n), timestamp_ns: BigInt(n) * 1_000n, ...common, attributes };
}

function batchOf(schema: TableSchema, texts: readonly (string | null)[]): ColumnBatch {
  return batchOfRows(schema, texts.map((text, n) => eventRow(n, text)));
}

/** What the column must hold of a row, or null. */
function isText(column: Column, value: ColumnValue, wanted: string | null): boolean {
  if (value === null) return true;
  if (wanted === null) return false;
  return column.type === "double" ? Object.is(value, Number(wanted)) : String(value) === wanted;
}

Deno.test("liftPromoted stores what attr_get gives, and says where that is all of it", async () => {
  await using lab = await EngineLab.open();
  let [completed, held, open] = [0, 0, 0];
  const filled = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = new SeededRandom(seed);
    // One for all batches, as a writer has it.
    const lift = liftPromoted(SCHEMA);
    for (let round = 0; round < 12; round += 1) {
      const texts = batchTexts(random);
      const batch = lift(batchOf(SCHEMA, texts));
      const rows = rowsOf(batch);
      const wanted = await attributesOf(lab, texts);
      for (const { column, place } of promotedPlaces(SCHEMA)) {
        const isComplete = ((batch.complete ?? 0n) >> BigInt(place) & 1n) === 1n;
        if (isComplete && rows.some((values) => values[column.name] !== null)) {
          filled.add(attributeOf(column.name));
        }
        if (isComplete) completed += 1;
        else open += 1;
        for (const [row, values] of rows.entries()) {
          const value = values[column.name] as ColumnValue;
          const text = wanted[row]?.[NAMES.indexOf(attributeOf(column.name))] as string | null;
          const about = `seed ${seed}: ${column.name} of ${texts[row]} is ${value}, not ${text}`;
          assert.ok(isText(column, value, text), about);
          if (isComplete) assert.equal(value === null, text === null, `complete, ${about}`);
          if (value !== null) held += 1;
        }
      }
    }
  }
  for (const name of ["$.o.a", "$.o.n", "$.o.p.b"]) assert.ok(filled.has(name), name);
  assert.ok(completed > 20 * SEEDS && open > 20 * SEEDS && held > 1_000 * SEEDS, `${completed}`);
});

/** By row, then by name. */
async function attributesOf(
  lab: EngineLab,
  texts: readonly (string | null)[],
): Promise<readonly (readonly unknown[])[]> {
  const values = texts.map((text, n) => `(${n}, ${text === null ? "NULL" : quoted(text)})`);
  const gets = [
    ...FLAT.map((name) => `attr_get(x, ${quoted(name)})`),
    ...NESTED.map((path) => `json_extract_string(TRY_CAST(x AS JSON), ${quoted(path)})`),
  ];
  const answer = await lab.query(
    `SELECT ${gets.join(", ")} FROM (VALUES ${values.join(",")}) t(n, x) ORDER BY n`,
  );
  return answer.rows;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

Deno.test("liftPromoted fills the columns of ordinary rows and calls them complete", () => {
  const columns = ["a", "n", "x"].map((name) => present(unaskedColumn(name)));
  const integer = present(unaskedColumn("n", "integer"));
  const number = present(unaskedColumn("d", "number"));
  const schema = withPromoted(EVENTS_SCHEMA, [...columns, integer, number]);
  const texts = [
    '{"a":"x","n":200,"d":1.5,"x":true}',
    '{"n":-3,"a":"\\"y\\"","d":7}',
    null,
    '{"a":null}',
  ];
  const batch = liftPromoted(schema)(batchOf(schema, texts));
  const wanted = [
    { "attributes:a": "x", "attributes:n": "200", "attributes:x": "true" },
    { "attributes:a": '"y"', "attributes:n": "-3", "attributes:x": null },
    { "attributes:a": null, "attributes:n": null, "attributes:x": null },
    { "attributes:a": null, "attributes:n": null, "attributes:x": null },
  ];
  for (const [row, values] of rowsOf(batch).entries()) {
    for (const [name, value] of Object.entries(wanted[row] ?? {})) {
      assert.equal(values[name], value);
    }
  }
  assert.deepEqual(rowsOf(batch).map((row) => row[integer.name]), [200n, -3n, null, null]);
  assert.deepEqual(rowsOf(batch).map((row) => row[number.name]), [1.5, 7, null, null]);
  assert.equal(batch.complete, 0b11111n);
});

Deno.test("liftPromoted keeps what a column has, and says that it is not what the attributes say", () => {
  const status = parsePromotion("status:int");
  const schema = withPromoted(EVENTS_SCHEMA, [status]);
  const lift = liftPromoted(schema);
  const rowOf = (n: number, value: ColumnValue, text: string) => ({
    ...eventRow(n, text),
    status: value,
  });
  const same = batchOfRows(schema, [
    rowOf(0, 200n, '{"status":200}'),
    rowOf(1, null, '{"status":404}'),
  ]);
  assert.deepEqual(rowsOf(lift(same)).map((row) => row["status"]), [200, 404]);
  const other = batchOfRows(schema, [rowOf(0, 5n, '{"status":200}')]);
  assert.deepEqual(rowsOf(lift(other)).map((row) => row["status"]), [5]);
  assert.deepEqual([lift(same).complete, lift(other).complete ?? 0n], [1n, 0n]);
});

Deno.test("liftPromoted leaves complete columns of a batch as they are", () => {
  const schema = withPromoted(EVENTS_SCHEMA, [present(unaskedColumn("a"))]);
  const batch = { ...batchOf(schema, ['{"a":"x"}']), complete: 1n };
  assert.equal(liftPromoted(schema)(batch), batch);
});
