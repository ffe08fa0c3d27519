/**
 * Engines of Python find each state of a table's life by its snapshot; a reader that is slow reads
 * on while its snapshot expires. The engines of the JVM do it in `tests/engines_jvm`.
 */

import assert from "node:assert/strict";
import { startEngineStack } from "./lab.ts";
import { hasPackages, NO_PYTHON, runPython, startPython } from "./python.ts";
import { expire, live, rowText, type TableState } from "./table_life.ts";

const NAME = "PyIceberg and DuckDB find each state of a table's life by its snapshot";
const HAS_READERS = await hasPackages([
  ...["duckdb", "duckdb_extension_iceberg", "pyiceberg", "sqlalchemy"],
]);

/** Rows of lines of JSON, as `read_state.py` prints them. */
export function rowsOf({ columns }: TableState, printed: string): readonly string[] {
  return printed.split("\n").filter((line) => line !== "")
    .map((line) => rowText(columns, JSON.parse(line))).toSorted();
}

Deno.test({
  name: HAS_READERS ? NAME : `${NAME} (${NO_PYTHON})`,
  ignore: !HAS_READERS,
  async fn(t) {
    await using lab = await startEngineStack({
      SVC_ICEBERG_WRITES: "1",
      // On a busy machine the first state is read more than five minutes after it was replaced.
      SVC_SNAPSHOT_RETAIN_SECS: "3600",
    });
    const states = await live(lab);
    const sizes = states.map(({ rows }) => rows.length);
    assert.deepEqual(sizes, [12, 21, 20, 24, 16]);
    const read = (engine: string, { snapshot, columns }: TableState) =>
      runPython("read_state.py", [engine, lab.address, snapshot, ...columns]);
    for (const engine of ["pyiceberg", "pyiceberg_sql", "duckdb"]) {
      for (const state of states) {
        await t.step(`${engine}: ${state.label}`, async () => {
          assert.deepEqual(rowsOf(state, await read(engine, state)), state.rows);
        });
      }
    }
    await t.step("a reader that is slow reads its snapshot though it has expired", async () => {
      const [first] = states;
      const last = states.at(-1);
      assert.ok(first !== undefined && last !== undefined);
      await using reader = startPython("read_state.py", [
        ...["slow", lab.address, first.snapshot, ...first.columns],
      ]);
      assert.equal(await reader.line(), "planned");
      await expire(lab);
      assert.deepEqual(rowsOf(first, await reader.rest()), first.rows);
      await assert.rejects(read("pyiceberg", first), /not found/i);
      const current = { ...last, snapshot: "current" };
      assert.deepEqual(rowsOf(last, await read("duckdb", current)), last.rows);
    });
  },
});
