/** pgjdbc asks a query server by PostgreSQL's protocol. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { askWith, DRIVERS } from "./drivers.ts";

/** The version that `.ci/run` obtains, and checks. */
const JAR = join(DRIVERS, "postgresql-42.7.8.jar");

Deno.test({
  name: "pgjdbc reads types, binds, fetches in parts, browses and copies",
  fn: async () => {
    const printed = await askWith((port) => ["java", "-cp", JAR, "PgQueries.java", port]);
    assert.deepEqual(printed.trimEnd().split("\n"), [
      "types [true, 1, 2, 3, 1.50, 0.25, x, 2024-02-29, 2024-02-29T01:02:03Z, [1, 2], null, " +
      "00112233-4455-6677-8899-aabbccddeeff]",
      "found [row 1, row 3]",
      "prepared [1, 2, 3]",
      "fetched 5500 rows, sum 15122250",
      "tables [svc.events]",
      "columns [timestamp:timestamptz:NO, timestamp_ns:int8:NO, host:text:NO, source:text:NO, " +
      "sourcetype:text:NO, index:text:NO, raw:text:NO, attributes:text:YES]",
      "described [raw:text, timestamp:timestamptz, int8]",
      "copied 2 rows, row 0/row 1/",
      "error 42703",
      "valid true",
    ]);
  },
});
