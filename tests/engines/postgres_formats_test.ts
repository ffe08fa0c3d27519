/**
 * Values of each type in PostgreSQL's text and binary formats, as results and as parameters: the
 * bytes are those of a real PostgreSQL with the same values.
 */

import assert from "node:assert/strict";
import { textOf } from "../../shared/base/bytes.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { POSTGRES, PostgresProcess } from "../../shared/testing/postgres_process.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { startLabServer } from "../doubles/lab_server.ts";
import { frame, PgWireClient, zero } from "../doubles/pg_wire_client.ts";

/** A type as both call it, and texts that both read as the same value. */
interface TypeCase {
  readonly type: string;
  /** DuckDB's name, where it has another. */
  readonly ours?: string;
  readonly values?: readonly (string | readonly [theirs: string, ours: string])[];
  /** Expressions of that type. */
  readonly sql?: readonly (string | readonly [theirs: string, ours: string])[];
}

const random = new SeededRandom(20_261_123);

const CASES: readonly TypeCase[] = [
  { type: "bool", values: ["true", "false"] },
  { type: "int2", values: ["-32768", "32767", "0"] },
  { type: "int4", values: ["-2147483648", "2147483647", "0", "-1"] },
  {
    type: "int8",
    values: ["-9223372036854775808", "9223372036854775807", "9007199254740993", "-1", "0"],
  },
  {
    type: "numeric(38,10)",
    values: ["0", "1", "-1", "0.0000000001", "9999999999999999999999999999.9999999999", "10000"],
  },
  { type: "numeric(10,0)", values: ["0", "10000", "9999999999", "-20000000"] },
  { type: "numeric(4,4)", values: ["0.0001", "-0.9999", "0", "0.1"] },
  {
    type: "float4",
    values: [
      "0",
      "-0",
      "1.5",
      "1e6",
      "999999",
      "1e-4",
      "1e-5",
      "3.4028235e38",
      "1e-45",
      "0.1",
      "NaN",
      "Infinity",
      "-Infinity",
      "16777216",
      "123456.7",
    ],
  },
  {
    type: "float8",
    values: [
      "0",
      "-0",
      "0.1",
      "1e15",
      "999999999999999",
      "1e14",
      "1e-4",
      "0.00001",
      "123456.789",
      "1.7976931348623157e308",
      "5e-324",
      "NaN",
      "Infinity",
      "-Infinity",
      ...randomDoubles(60),
    ],
  },
  { type: "text", values: ["", "plain", "ü€😀", "tab\tand\nline", 'quo"te', "back\\slash"] },
  {
    type: "bytea",
    ours: "BLOB",
    values: [["\\xdeadbeef", "\\xDE\\xAD\\xBE\\xEF"], ["", ""], ["\\x00ff", "\\x00\\xFF"]],
  },
  {
    type: "date",
    values: [
      "2024-02-29",
      "1970-01-01",
      "1999-12-31",
      "0001-01-01",
      "9999-12-31",
      "infinity",
      "-infinity",
      ["0044-03-15 BC", "0044-03-15 (BC)"],
      ["20000-01-01", "20000-01-01"],
    ],
  },
  {
    type: "time",
    values: ["00:00:00", "23:59:59.999999", "12:30:00.5", "01:02:03.000001", "24:00:00"],
  },
  {
    type: "timestamp",
    values: [
      "2024-02-29 01:02:03.000001",
      "1969-12-31 23:59:59.999999",
      "1999-12-31 23:59:59.9",
      "0001-01-01 00:00:00",
      // Around 2 ** 53 microseconds before and behind 1970, and 2 ** 32 around 2000.
      "1684-07-28 00:12:25.259007",
      "1684-07-28 00:12:25.259009",
      "2255-06-05 23:47:34.740993",
      "1970-01-01 00:00:00",
      "1999-12-31 22:48:25.032703",
      "2000-01-01 00:00:00",
      "2000-01-01 01:11:34.967297",
      "294247-01-10 04:00:54.775806",
      ["4713-01-01 00:00:00.000001 BC", "4713-01-01 (BC) 00:00:00.000001"],
      "infinity",
      "-infinity",
    ],
  },
  {
    type: "timestamptz",
    values: [
      "2024-02-29 01:02:03.5+02",
      "1969-12-31 23:59:59.999999+00",
      "2262-04-12 00:00:00+00",
      "1700-01-01 00:00:00.000001+00",
      ["0044-03-15 12:00:00+00 BC", "0044-03-15 (BC) 12:00:00+00"],
      "infinity",
      "-infinity",
    ],
  },
  {
    type: "interval",
    values: [
      "14 months 3 days 4.5 seconds",
      "0 seconds",
      "-1 months",
      "1 year",
      "-3 days",
      "1 month -2 days",
      "-1 month 2 days",
      "25 hours",
      "-00:00:00.5",
      "1 day -00:00:01",
      "-1 day 00:00:01",
      "100 days",
    ],
  },
  { type: "uuid", values: ["00112233-4455-6677-8899-aabbccddeeff"] },
  { type: "json", values: ['{"a": [1, null]}', '"x"'] },
  { type: "int2[]", values: ["{-32768,NULL,32767}"].map(list) },
  { type: "int4[]", values: ["{}", "{1,NULL,3}", "{-5}"].map(list) },
  { type: "int8[]", values: ["{-9223372036854775808,9223372036854775807}", "{NULL}"].map(list) },
  { type: "float4[]", values: ["{0.1,NaN,-Infinity,1e20}"].map(list) },
  { type: "float8[]", values: ["{0.5,1e20}"].map(list) },
  { type: "bool[]", values: ["{true,false}"].map(list) },
  {
    type: "text[]",
    sql: [
      `ARRAY['', 'plain', NULL, 'NULL', 'a b', 'quo"te', 'it''s', 'back\\slash', '{x}', 'x,y', 'ü€😀']`,
      "ARRAY['tab\tand\nline\u000b\r\f', '\u00a0', '\u2003', '\ufeff']",
    ],
  },
  {
    type: "bytea[]",
    ours: "BLOB[]",
    sql: [[
      String.raw`ARRAY['\xdeadbeef', '', NULL]::bytea[]`,
      String.raw`['\xDE\xAD\xBE\xEF', '', NULL]::BLOB[]`,
    ]],
  },
  { type: "date[]", sql: ["ARRAY[DATE '2024-02-29', NULL, DATE 'infinity']"] },
  { type: "time[]", sql: ["ARRAY[TIME '23:59:59.999999', TIME '00:00']"] },
  {
    type: "timestamp[]",
    sql: ["ARRAY[TIMESTAMP '2024-01-01 00:00:00.000001', NULL, TIMESTAMP '-infinity']"],
  },
  {
    type: "json[]",
    sql: [`ARRAY['{"a": [1, "x y"]}'::json, 'null'::json, NULL, '[]'::json]`],
  },
  { type: "timestamptz[]", values: [["{2024-01-01 00:00:00+00}", "[2024-01-01 00:00:00+00]"]] },
  { type: "uuid[]", values: ["{00112233-4455-6677-8899-aabbccddeeff,NULL}"].map(list) },
  { type: "interval[]", values: [["{1 day,1 month}", "[1 day, 1 month]"]] },
  { type: "numeric(10,2)[]", values: ["{1.50,-2.25}"].map(list) },
];

function list(text: string): readonly [string, string] {
  return [text, `[${text.slice(1, -1)}]`];
}

function randomDoubles(count: number): string[] {
  const view = new DataView(new ArrayBuffer(8));
  return Array.from({ length: count }, () => {
    view.setUint32(0, Math.floor(random.float() * 2 ** 32));
    view.setUint32(4, Math.floor(random.float() * 2 ** 32));
    const value = view.getFloat64(0);
    return Number.isFinite(value) ? String(value) : "1";
  });
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

Deno.test({
  name: `values in text and binary are PostgreSQL's byte for byte${
    POSTGRES === undefined ? " (ignored: no PostgreSQL)" : ""
  }`,
  ignore: POSTGRES === undefined,
  fn: async (t) => {
    await using lab = await WarehouseLab.open();
    await using ours = await startLabServer(lab, ["--pg-listen", "127.0.0.1:0"]);
    await using postgres = await PostgresProcess.start();
    using us = await PgWireClient.start(ours.server.pgAddress?.port ?? 0);
    using them = await PgWireClient.start(postgres.port);
    await them.simple("SET timezone TO 'UTC'");
    for (const { type, ours: ourType = type, values = [], sql = [] } of CASES) {
      await t.step(type, async () => {
        const pairs = [
          ...values.map(paired).map(([a, b]) => [cast(a, type), cast(b, ourType)] as const),
          ...sql.map(paired),
        ];
        const select = (at: 0 | 1) => `SELECT ${pairs.map((pair) => pair[at]).join(", ")}`;
        for (const format of [0, 1] as const) {
          const want = await them.extended(select(0), { format });
          const got = await us.extended(select(1), { format });
          assert.equal(want.error, undefined, `${want.error?.get("M")}`);
          assert.equal(got.error, undefined, `${got.error?.get("M")}`);
          assert.deepEqual(got.oids, want.oids);
          const shown = (cells: readonly (Uint8Array | null)[] | undefined) =>
            cells?.map((cell) => cell === null ? null : shownBytes(cell, format));
          assert.deepEqual(shown(got.rows[0]), shown(want.rows[0]), `format ${format}`);
          // What a server sends comes back to it as a parameter, and is the same value.
          const [oid = 0] = want.oids;
          for (const [at, bytes] of (want.rows[0] ?? []).entries()) {
            const back = await us.extended(`SELECT $1::${ourType}`, {
              parameters: [{ bytes, format, oid }],
              format,
            });
            assert.equal(back.error, undefined, `${pairs[at]}: ${back.error?.get("M")}`);
            assert.deepEqual(shown(back.rows[0]), shown([bytes]), `parameter ${pairs[at]}`);
          }
        }
      });
    }
  },
});

/** Columns of values that look like something else in one of the formats. */
const COPIED = String.raw`SELECT * FROM (VALUES
  (1, 'plain', 1.5::float8, TIMESTAMP '2024-02-29 01:02:03.5', true),
  (2, NULL, NULL, NULL, NULL),
  (3, '', 'NaN'::float8, TIMESTAMP 'infinity', false),
  (4, 'NULL', -0.5::float8, TIMESTAMP '1969-12-31 23:59:59.999999', true),
  (5, '\N', 1e300::float8, TIMESTAMP '0001-01-01', true),
  (6, '\.', 0.1::float8, TIMESTAMP '1970-01-01', true),
  (7, 'tab	line
end', 1::float8, TIMESTAMP '1970-01-01', true),
  (8, 'quote " and '' comma , semicolon ; back \ slash', 1::float8, TIMESTAMP '1970-01-01', true),
  (9, ' blanks ', 1::float8, TIMESTAMP '1970-01-01', true),
  (10, 'ü€😀', 1::float8, TIMESTAMP '1970-01-01', true)
) v(id, "Some text", f, t, b)`;

const COPIES = [
  "",
  "(FORMAT text, DELIMITER ';', NULL 'nil', HEADER)",
  "(FORMAT csv)",
  "(FORMAT csv, HEADER, FORCE_QUOTE *)",
  `(FORMAT csv, HEADER true, FORCE_QUOTE ("Some text"), NULL 'NULL')`,
  String.raw`(FORMAT csv, DELIMITER ';', QUOTE '''', ESCAPE '\')`,
  String.raw`CSV HEADER DELIMITER AS E'\t' NULL AS '-'`,
  "(FORMAT binary)",
];

Deno.test({
  name: `COPY TO STDOUT is PostgreSQL's byte for byte${
    POSTGRES === undefined ? " (ignored: no PostgreSQL)" : ""
  }`,
  ignore: POSTGRES === undefined,
  fn: async () => {
    await using lab = await WarehouseLab.open();
    await using ours = await startLabServer(lab, ["--pg-listen", "127.0.0.1:0"]);
    await using postgres = await PostgresProcess.start();
    using us = await PgWireClient.start(ours.server.pgAddress?.port ?? 0);
    using them = await PgWireClient.start(postgres.port);
    for (const options of COPIES) {
      for (const columns of ["*", '"Some text"', "id"]) {
        if (columns === "id" && options.includes("Some text")) continue;
        const sql = `COPY (SELECT ${columns} FROM (${COPIED}) c ORDER BY id) TO STDOUT ${options}`;
        assert.deepEqual(await copied(us, sql), await copied(them, sql), sql);
      }
    }
  },
});

/** What tells of the copy, its bytes, however they are cut into messages, and its tag. */
async function copied(client: PgWireClient, sql: string): Promise<Record<string, string>> {
  await client.write(frame("Q", zero(sql)));
  const told: Record<string, string> = {};
  for (const { code, body } of await client.untilReady()) {
    told[code] = (told[code] ?? "") + body.toHex();
  }
  assert.equal(told["E"], undefined, `${sql}: ${textOf(Uint8Array.fromHex(told["E"] ?? ""))}`);
  return told;
}

function paired(value: string | readonly [string, string]): readonly [string, string] {
  return typeof value === "string" ? [value, value] : value;
}

function cast(text: string, type: string): string {
  return `CAST(${quoted(text)} AS ${type})`;
}

function shownBytes(bytes: Uint8Array, format: 0 | 1): string {
  return format === 0 ? new TextDecoder().decode(bytes) : bytes.toHex();
}
