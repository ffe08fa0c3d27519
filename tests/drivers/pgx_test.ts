/** pgx asks a query server by PostgreSQL's protocol. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { askWith, DRIVERS } from "./drivers.ts";

Deno.test({
  name: "pgx reads types in binary, binds, prepares, sends batches, copies and has cursors",
  fn: async () => {
    const printed = await askWith((port) => [join(DRIVERS, "pgx_client"), port]);
    assert.deepEqual(JSON.parse(printed), {
      types: [true, 1, 2, 3, 0.25, "x", "01ff", "2024-02-29T01:02:03Z", [1, 2], null],
      found: ["row 1", "row 3"],
      prepared: [[23, 23], "n", [10, 11, 12]],
      batch: [0, 2, 4],
      copied: ["row 0\nrow 1\n", "COPY 2"],
      cursor: [[0, 1], [2, 3], [4]],
      error: ["42703", 8],
      simple: "it's!",
    });
  },
});
