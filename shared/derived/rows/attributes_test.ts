import assert from "node:assert/strict";
import { utf8 } from "../../base/bytes.ts";
import type { RowObject } from "../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { blobsOfRows, hasRow, indexedRows } from "../../testing/indexed_rows.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { FILTER_TYPE } from "../text/value_filter.ts";
import { NESTED_PROPERTY, RISING_VALUES_TYPE } from "../text/values_format.ts";
import { findRows } from "./find_rows.ts";

const SEEDS = Number(Deno.env.get("SVC_INDEX_SEEDS") ?? 3);

const NAMES = ["a", "b.c", "d/e", "f~g", "", "é", 'q"', "\n", "id", "0", "漢"];
const VALUES = [
  ...['"x"', '""', '"é\\n"', '"\\u00e9\\n"', '"\\""', '"a\\/b"', '"\\ud83d\\ude42"', '"🙂"', '"7"'],
  ...[
    "0",
    "-0",
    "7",
    "-7",
    "1.0",
    "1e3",
    "0.1",
    "123456789012345678",
    "1234567890123456789",
  ],
  ...["18446744073709551615", "-9223372036854775809", "12345678901234567890123"],
  ...[
    "true",
    "false",
    "null",
    "{}",
    '{"a":[1, "]}"]}',
    "[]",
    '[1, {"x": null}]',
    '"null"',
    '"true"',
  ],
  `"${"long".repeat(100)}"`,
];

/** A JSON object, mostly; now and then with a name twice, blanks, or something else altogether. */
function objectText(random: SeededRandom): string | null {
  if (random.chance(0.05)) return null;
  if (random.chance(0.05)) return ["[1]", '"s"', "7", "null", "[]"][random.below(5)] as string;
  return objectOf(random, { names: NAMES, nested: 0 });
}

/** `nested`: the share of members that are objects. */
function objectOf(
  random: SeededRandom,
  { names, nested }: { readonly names: readonly string[]; readonly nested: number },
): string {
  const members = Array.from({ length: random.below(7) }, () => {
    const name = JSON.stringify(names[random.below(names.length)]);
    const spelled = random.chance(0.2) ? name.replace("a", "\\u0061") : name;
    const value = random.chance(nested)
      ? objectOf(random, { names, nested: nested / 2 })
      : random.chance(0.3)
      ? String(random.below(10_000))
      : VALUES[random.below(VALUES.length)] as string;
    const blank = random.chance(0.2) ? " \n" : "";
    return `${blank}${spelled}${blank}:${blank}${value}`;
  });
  return `{${members.join(random.chance(0.2) ? " , " : ",")}}`;
}

/** Attributes of rows, by seed, and how DuckDB reads them. */
interface Soundness {
  readonly attributesOf: (random: SeededRandom) => readonly (string | null)[];
  readonly names: readonly string[];
  /** The function that gives the value of such a name in SQL. */
  readonly read: "attr_get" | "json_extract_string";
}

/** Fails where a lookup loses a row that has the value; the number of rows that were looked for. */
async function findAll({ attributesOf, names, read }: Soundness): Promise<number> {
  await using lab = await EngineLab.open();
  let found = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const attributes = attributesOf(new SeededRandom(seed));
    const rows = attributes.map((text, n) => eventRow(n, { attributes: text }));
    // The filter of values and the index tell alike.
    const blobs = blobsOfRows(EVENTS_SCHEMA, rows).filter(({ type }) =>
      seed % 2 === 0 || type !== FILTER_TYPE
    );
    const file = indexedRows(EVENTS_SCHEMA, rows.length, blobs);
    const values = attributes.map((text) => `(${text === null ? "NULL" : quoted(text)})`).join(",");
    for (const name of names) {
      const answer = await lab.query(
        `SELECT ${read}(x, ${quoted(name)}) FROM (VALUES ${values}) t(x)`,
      );
      const texts = answer.rows.map(([text]) => text as string | null);
      for (const wanted of new Set([...texts, "absent"])) {
        if (wanted === null) continue;
        const query = { kind: "attribute", column: "attributes", name, values: [wanted] } as const;
        const set = await findRows(query, file);
        for (const [row, text] of texts.entries()) {
          if (text !== wanted) continue;
          found += 1;
          assert.ok(hasRow(set, row), `seed ${seed}: ${name} = ${wanted} loses ${attributes[row]}`);
        }
      }
    }
    assert.deepEqual(file.damages, []);
  }
  return found;
}

Deno.test("findRows finds each row whose attr_get is one of the values, as DuckDB has it", async () => {
  const found = await findAll({
    attributesOf: (random) =>
      Array.from({ length: 200 }, (_, n) => n === 0 ? "{}" : objectText(random)),
    names: NAMES,
    read: "attr_get",
  });
  assert.ok(found > 100 * SEEDS, `${found} rows`);
});

Deno.test("findRows finds each row whose member within objects is one of the values, as DuckDB has it", async () => {
  const found = await findAll({
    attributesOf: (random) =>
      Array.from(
        { length: 200 },
        () => objectOf(random, { names: ["a", "b", "a.b", ""], nested: 0.8 }),
      ),
    names: ["$.a.a", "$.a.b", "$.b.a", "$.a.b.a", "$.b.b.b", "$.a.a.a.a"],
    read: "json_extract_string",
  });
  assert.ok(found > 100 * SEEDS, `${found} rows`);
});

Deno.test("findRows leaves out all rows but those near one text within objects", async () => {
  const users = (n: number) => ({ user: { id: traceId(n >> 1), n }, id: traceId(0) });
  const rows = Array.from(
    { length: 4_000 },
    (_, n) =>
      eventRow(n, { attributes: JSON.stringify(n % 2 === 0 ? users(n) : { on: users(n) }) }),
  );
  const blobs = blobsOfRows(EVENTS_SCHEMA, rows);
  const attribute = (name: string, value: string, all = blobs) =>
    findRows(
      { kind: "attribute", column: "attributes", name, values: [value] },
      indexedRows(EVENTS_SCHEMA, rows.length, all),
    );
  for (const [name, row] of [["$.user.id", 2_000], ["$.on.user.id", 2_001]] as const) {
    const found = await attribute(name, traceId(1_000));
    assert.ok(found.kind === "rows" && found.rows.length <= 512 && hasRow(found, row), name);
    assert.deepEqual(await attribute(name, "absent"), { kind: "none" });
  }
  assert.deepEqual(await attribute("$.on.id", traceId(1_000)), { kind: "none" });
  // Numbers within objects are not told apart.
  assert.deepEqual(await attribute("$.user.n", "7"), { kind: "all" });
  // An earlier version had no members of objects within objects.
  const earlier = blobs.map((
    { properties: { [NESTED_PROPERTY]: _, ...properties } = {}, ...blob },
  ) => ({ ...blob, properties }));
  assert.deepEqual(await attribute("$.user.id", "absent", earlier), { kind: "all" });
  assert.deepEqual(await attribute("id", "absent", earlier), { kind: "none" });
});

Deno.test("findRows leaves out all rows but those near one trace id", async () => {
  const rows = Array.from({ length: 4_000 }, (_, n) =>
    eventRow(n, {
      host: `host-${n % 3}`,
      attributes: JSON.stringify({ trace_id: traceId(n >> 1), code: 200, nested: { n } }),
    }));
  const file = indexedRows(EVENTS_SCHEMA, rows.length, blobsOfRows(EVENTS_SCHEMA, rows));
  const attribute = (name: string, ...values: string[]) =>
    findRows({ kind: "attribute", column: "attributes", name, values }, file);
  const found = await attribute("trace_id", traceId(1_000), traceId(77));
  assert.ok(found.kind === "rows" && found.rows.length <= 1_024, found.kind);
  for (const row of [2_000, 2_001, 154, 155]) assert.ok(hasRow(found, row));
  assert.deepEqual(await attribute("trace_id", "absent"), { kind: "none" });
  assert.deepEqual(await attribute("code", "200"), { kind: "all" });
  assert.deepEqual(await attribute("nested", '{"n":7}'), { kind: "all" });
  const equals = (column: string, ...values: string[]) =>
    findRows({ kind: "equals", column, values }, file);
  assert.deepEqual(await equals("host", "host-7"), { kind: "none" });
  assert.deepEqual(await equals("host", "host-2"), { kind: "all" });
  assert.deepEqual(await equals("attributes", "{}"), { kind: "all" });
  assert.deepEqual(await equals("timestamp", "0"), { kind: "all" });
});

Deno.test("findRows finds numbers that rise by where they do, and all others as ever", async () => {
  const lines = 20_000;
  const shapes: Record<string, (n: number) => number | string> = {
    line: (n) => n,
    offset: (n) => 150 * n + n % 97,
    disordered: (n) => n + 40 * (n % 3),
    restarted: (n) => n % 13_000,
    falling: (n) => lines - n,
    few: (n) => n % 5,
    late: (n) => n < 9_000 ? 7 : n,
    text: (n) => n % 1_000 === 999 ? String(n) : n,
    mixed: (n) => n % 3_000 === 2_999 ? `line ${n}` : n,
    large: (n) => 999_999_999_990_000 + n,
  };
  const rows = Array.from({ length: lines }, (_, n) => {
    const members = Object.entries(shapes).map(([name, at]) => [name, at(n)]);
    // Some members come in another order, and are missing now and then.
    const own = n % 7 === 3 ? members.reverse() : members.filter(() => n % 11 !== 5);
    return eventRow(n, { attributes: JSON.stringify(Object.fromEntries(own)) });
  });
  const blobs = blobsOfRows(EVENTS_SCHEMA, rows, { rowGroupRows: 8_192 });
  assert.ok(blobs.some(({ type }) => type === RISING_VALUES_TYPE));
  const file = indexedRows(EVENTS_SCHEMA, lines, blobs);
  const look = (name: string, value: number | string) =>
    findRows({ kind: "attribute", column: "attributes", name, values: [String(value)] }, file);
  // Here and there, and the first and the last row of each granule.
  const looked = Array.from({ length: lines }, (_, n) => n)
    .filter((n) => n % 999 === 0 || n % 2_048 === 0 || n % 2_048 === 2_047);
  for (const [name, at] of Object.entries(shapes)) {
    for (const n of looked) {
      if (n % 11 === 5 && n % 7 !== 3) continue;
      assert.ok(hasRow(await look(name, at(n)), n), `${name} of row ${n}`);
    }
    assert.deepEqual(await look(name, "no number"), { kind: "none" });
    assert.deepEqual(await look(name, -1), { kind: "none" });
  }
  for (const name of ["line", "offset", "disordered", "text", "mixed", "large"]) {
    const found = await look(name, shapes[name]?.(15_000) ?? "");
    assert.ok(found.kind === "rows" && found.rows.length <= 3 * 2_048, name);
  }
  assert.deepEqual(await look("line", lines), { kind: "none" });
  const bytesOf = (all: ReturnType<typeof blobsOfRows>) =>
    all.find(({ type }) => type.startsWith("svc-values"))?.data.length ?? 0;
  const only = (name: string) =>
    bytesOf(blobsOfRows(
      EVENTS_SCHEMA,
      rows.map((row, n) => ({
        ...row,
        attributes: JSON.stringify({ [name]: shapes[name]?.(n) }),
      })),
    ));
  const [rising, hashed] = [only("line"), only("falling")];
  assert.ok(3 * rising < hashed, `${rising} bytes, and ${hashed} of as many that do not rise`);
});

Deno.test("findRows finds values of any length, and none in a column that is always null", async () => {
  const long = "v".repeat(1_000);
  const rows = [long, "short", "", long + "w"].map((host, n) =>
    eventRow(n, { host, attributes: null })
  );
  const file = indexedRows(EVENTS_SCHEMA, rows.length, blobsOfRows(EVENTS_SCHEMA, rows));
  for (const [row, { host }] of rows.entries()) {
    const set = await findRows({ kind: "equals", column: "host", values: [String(host)] }, file);
    assert.ok(hasRow(set, row));
  }
  const query = { kind: "attribute", column: "attributes", name: "a", values: ["b"] } as const;
  assert.deepEqual(await findRows(query, file), { kind: "none" });
});

function eventRow(n: number, columns: Partial<Record<string, string | null>>): RowObject {
  return {
    timestamp: BigInt(n),
    timestamp_ns: BigInt(n) * 1_000n,
    host: "h",
    source: "s",
    sourcetype: "t",
    index: "main",
    raw: "",
    ...columns,
  };
}

function traceId(n: number): string {
  return Array.from(utf8(`trace ${n}`.padEnd(16)), (byte) => byte.toString(16)).join("");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
