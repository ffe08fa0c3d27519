/** `uncommittedOnly`: what no snapshot holds, and the snapshot that it comes on top of. */

import { deepStrictEqual } from "node:assert/strict";
import { EngineLab } from "../testing/engine_lab.ts";

Deno.test({
  name: "uncommittedOnly reads the WAL's rows that no snapshot holds, and says which snapshot",
  async fn() {
    await using lab = await EngineLab.open({ wal: true });
    const sql = "SELECT raw FROM events ORDER BY raw";
    const fresh = async () => {
      await using prepared = await lab.prepare(sql, { uncommittedOnly: true });
      const [table] = prepared.tables;
      const rows = (await lab.query(sql, { uncommittedOnly: true })).rows.flat();
      return { rows, files: table?.files, known: table?.snapshot_id !== null };
    };
    deepStrictEqual(await fresh(), { rows: [], files: 0, known: false });
    const segment = await lab.append([{ ns: 1n, raw: "a" }, { ns: 2n, raw: "b" }]);
    deepStrictEqual(await fresh(), { rows: ["a", "b"], files: 0, known: false });
    await lab.commit([{ ns: 3n, raw: "c" }]);
    deepStrictEqual(await fresh(), { rows: ["a", "b"], files: 0, known: true });
    deepStrictEqual((await lab.query(sql)).rows.flat(), ["a", "b", "c"]);
    await lab.commit([{ ns: 1n, raw: "a" }, { ns: 2n, raw: "b" }], { consumed: [segment] });
    deepStrictEqual(await fresh(), { rows: [], files: 0, known: true });
  },
});
