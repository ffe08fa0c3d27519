/** `since`: files that came after a snapshot, and whether that was possible. */

import { deepStrictEqual } from "node:assert/strict";
import { EngineLab } from "../testing/engine_lab.ts";

Deno.test({
  name:
    "since leaves out the files of an earlier snapshot, from counts and orders too, and says so",
  async fn() {
    await using lab = await EngineLab.open();
    const read = async (sql: string, since?: string) => {
      const options = { snapshot: "latest", ...(since === undefined ? {} : { since }) };
      await using prepared = await lab.prepare(sql, options);
      const [table] = prepared.tables;
      const { rows } = await lab.query(sql, options);
      return { rows: rows.flat(), files: table?.files, since: table?.since };
    };
    const snapshot = async () => {
      await using prepared = await lab.prepare("SELECT raw FROM events", { snapshot: "latest" });
      return prepared.tables[0]?.snapshot_id ?? "";
    };
    await lab.commit([{ ns: 1n, raw: "a" }, { ns: 9n, raw: "d" }], { derived: true });
    const first = await snapshot();
    await lab.commit([{ ns: 2n, raw: "b" }], { derived: true });
    await lab.commit([{ ns: 3n, raw: "c" }], { derived: true });
    const newest = "SELECT raw FROM events ORDER BY timestamp DESC, timestamp_ns DESC LIMIT 3";
    const count = "SELECT count(*) FROM events";
    deepStrictEqual(await read(newest, first), { rows: ["c", "b"], files: 2, since: first });
    deepStrictEqual((await read(count, first)).rows, [2]);
    deepStrictEqual((await read(count)).rows, [4], "what was left out is not taken for the table");
    deepStrictEqual(await read(newest, await snapshot()), {
      rows: [],
      files: 0,
      since: await snapshot(),
    });
    deepStrictEqual(await read(newest, "77"), {
      rows: ["d", "c", "b"],
      files: 3,
      since: undefined,
    });
  },
});
