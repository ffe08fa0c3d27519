import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { DuckDBInstance } from "@duckdb/node-api";
import { Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { utf8 } from "../../shared/base/bytes.ts";
import { arrowStream } from "./arrow_stream.ts";
import { LOCAL_SETUP } from "./local_dialect.ts";
import { localMessage } from "./local_error.ts";
import { localValue, localValueSql } from "./local_values.ts";

Deno.test("arrowStream takes the stream out of a file, and leaves a stream alone", () => {
  const table = new Table({ n: vectorFromArray([1, 2, 3]) });
  const stream = Uint8Array.from(tableToIPC(table, "stream"));
  strictEqual(arrowStream(stream), stream);
  // A file, as DuckDB writes it: magic, stream, footer, the footer's length, magic.
  const footerBytes = 300;
  const file = new Uint8Array(8 + stream.length + footerBytes + 10);
  file.set(utf8("ARROW1"));
  file.set(stream, 8);
  new DataView(file.buffer).setUint32(file.length - 10, footerBytes, true);
  file.set(utf8("ARROW1"), file.length - 6);
  deepStrictEqual(arrowStream(file), stream);
  deepStrictEqual(tableFromIPC(arrowStream(file)).toArray().map((row) => row.n), [1, 2, 3]);
});

Deno.test("localMessage says what to do without an extension, and with a server's table", () => {
  const json = localMessage(
    "Extension Autoloading Error: An error occurred while trying to automatically install the " +
      "required extension 'json':\nLoading external extensions is disabled\n    at ha.runQuery (x)",
    [],
  );
  match(
    json,
    /^This needs DuckDB's extension json, .* never loads extensions\. Read what you need/,
  );
  match(
    localMessage(
      'Scalar Function "x" is not in the catalog, but it exists in the icu extension.',
      [],
    ),
    /TIMESTAMPs in UTC/,
  );
  match(localMessage("… exists in the spatial extension.", []), /spatial.*on the server/);
  const mixed = localMessage(
    'Catalog Error: Table with name events does not exist!\nDid you mean "pg_views"?\n\n' +
      "LINE 2: FROM events\n             ^",
    ["a", "b"],
  );
  match(mixed, /^Table "events" is not in this browser.*keep its result.*local\.a, local\.b\./s);
  match(mixed, /LINE 2: FROM events\n {13}\^$/);
});

Deno.test("values keep their digits and instants their form", async () => {
  const database = await DuckDBInstance.create(":memory:");
  const connection = await database.connect();
  const values: readonly (readonly [string, string, unknown])[] = [
    ["9007199254740993::BIGINT", "BIGINT", "9007199254740993"],
    ["42::BIGINT", "BIGINT", 42],
    ["1.50::DECIMAL(10,2)", "DECIMAL(10,2)", 1.5],
    ["1234567890123456789.5::DECIMAL(38,1)", "DECIMAL(38,1)", "1234567890123456789.5"],
    ["TIMESTAMP '2026-11-20 01:02:03.4'", "TIMESTAMP", "2026-11-20T01:02:03.400000Z"],
    ["TIMESTAMP 'infinity'", "TIMESTAMP", "infinity"],
    [
      "'2026-11-20 01:02:03.123456789'::TIMESTAMP_NS",
      "TIMESTAMP_NS",
      "2026-11-20T01:02:03.123456789Z",
    ],
    ["DATE '2026-11-20'", "DATE", "2026-11-20"],
    ["[1, 2]", "INTEGER[]", "[1, 2]"],
    ["NULL::BIGINT", "BIGINT", null],
    ["'nan'::DOUBLE", "DOUBLE", "NaN"],
    ["true", "BOOLEAN", true],
  ];
  for (const [sql, type, expected] of values) {
    const read = await connection.runAndReadAll(`SELECT ${localValueSql(sql, type)}`);
    deepStrictEqual(localValue(read.getRows()[0]?.[0], type), expected, sql);
  }
  connection.closeSync();
  database.closeSync();
});

Deno.test("LOCAL_SETUP leaves a statement no file, no extension and no setting", async () => {
  const database = await DuckDBInstance.create(":memory:");
  const connection = await database.connect();
  for (const sql of LOCAL_SETUP) await connection.run(sql);
  const read = async (sql: string) => (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
  strictEqual(await read("SELECT kv_extract('a=1 b=2', 'b')"), "2");
  strictEqual(await read("SELECT log_pattern('took 31 ms')"), "took <*> ms");
  strictEqual(
    String(await read("SELECT date_bin('15 minutes', TIMESTAMP '2020-02-11 15:44:17')")),
    "2020-02-11 15:30:00",
  );
  strictEqual(
    String(await read("SELECT to_timestamp_millis(1795208645123)")).slice(0, 10),
    "2026-11-20",
  );
  for (
    const sql of [
      "SELECT * FROM read_text('/etc/hostname')",
      "SELECT * FROM 'https://example.com/a.csv'",
      "COPY (SELECT 1) TO '/tmp/x.csv'",
      "ATTACH '/tmp/x.db'",
      "LOAD spatial",
      "SET enable_external_access = true",
    ]
  ) {
    const refused = await connection.run(sql).then(() => false, () => true);
    ok(refused, sql);
  }
  connection.closeSync();
  database.closeSync();
});
