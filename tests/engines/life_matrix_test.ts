/**
 * Engines of Python find each state of a table's life by its snapshot and its time; a reader that
 * is slow reads on while its snapshot expires. The engines of the JVM do it in `tests/engines_jvm`.
 */

import assert from "node:assert/strict";
import { startEngineStack } from "./lab.ts";
import { hasPackages, runPython, startPython } from "./python.ts";
import { expire, live, rowText, type TableState } from "./table_life.ts";

interface Engine {
  readonly name: string;
  readonly packages: readonly string[];
  /** How it finds a state that is no longer current; absent: it has no way. */
  readonly finds?: "by id" | "by id and time";
  /** Whether `look_back.py` asks for its metadata tables. */
  readonly hasMetadataTables?: boolean;
}

const ENGINES: readonly Engine[] = [
  {
    ...{ name: "pyiceberg", packages: ["pyiceberg"] },
    ...{ finds: "by id and time", hasMetadataTables: true },
  },
  { name: "pyiceberg_sql", packages: ["pyiceberg", "sqlalchemy"], finds: "by id and time" },
  {
    ...{ name: "duckdb", packages: ["duckdb", "duckdb_extension_iceberg"] },
    ...{ finds: "by id and time", hasMetadataTables: true },
  },
  {
    ...{ name: "clickhouse", packages: ["chdb"] },
    ...{ finds: "by id and time", hasMetadataTables: true },
  },
  { name: "polars", packages: ["polars", "pyiceberg"], finds: "by id" },
  { name: "daft", packages: ["daft", "pyiceberg"], finds: "by id" },
  { name: "datafusion", packages: ["datafusion", "pyiceberg_core"] },
];

const THERE: Engine[] = [];
for (const engine of ENGINES) if (await hasPackages(engine.packages)) THERE.push(engine);
const MISSING = ENGINES.filter((engine) => !THERE.includes(engine)).map(({ name }) => name);

/** Rows of each state as an engine reads it, in the form of `TableState.rows`. */
async function read(
  engine: string,
  address: string,
  states: readonly (readonly [at: string, state: TableState])[],
): Promise<readonly (readonly string[])[]> {
  const asked = states.map(([at, { columns }]) => `${at}:${columns}`);
  return rowsOf(states, await runPython("read_state.py", [engine, address, ...asked]));
}

/** What `read_state.py` printed: before each state's rows, how many they are. */
function rowsOf(
  states: readonly (readonly [at: string, state: TableState])[],
  printed: string,
): readonly (readonly string[])[] {
  const lines = printed.split("\n");
  return states.map(([, { columns }]) =>
    lines.splice(0, Number(lines.shift())).map((line) => rowText(columns, JSON.parse(line)))
      .toSorted()
  );
}

Deno.test({
  name: "engines find each state of a table's life" +
    (MISSING.length === 0 ? "" : ` (ignored, as not installed: ${MISSING.join(", ")})`),
  ignore: THERE.length === 0,
  async fn(t) {
    await using lab = await startEngineStack({
      SVC_ICEBERG_WRITES: "1",
      // On a busy machine the first state is read more than five minutes after it was replaced.
      SVC_SNAPSHOT_RETAIN_SECS: "3600",
    });
    const { address } = lab;
    const states = await live(lab, async (state) => {
      // Who finds no older states reads each while it is the current one.
      for (const { name } of THERE.filter(({ finds }) => finds === undefined)) {
        await t.step(`${name}: ${state.label}`, async () => {
          assert.deepEqual(await read(name, address, [["current", state]]), [state.rows]);
        });
      }
    });
    const sizes = states.map(({ rows }) => rows.length);
    assert.deepEqual(sizes, [12, 21, 20, 24, 16]);
    const [first] = states;
    const last = states.at(-1);
    assert.ok(first !== undefined && last !== undefined);
    for (const { name, finds } of THERE) {
      if (finds === undefined) continue;
      await t.step(`${name}: each state ${finds}`, async () => {
        const asked = states.map((state) => [state.snapshot, state] as const);
        if (finds === "by id and time") {
          asked.push(...states.map((state) => [`@${state.committedMs}`, state] as const));
        }
        const rows = await read(name, address, asked);
        for (const [at, [which, { label, rows: expected }]] of asked.entries()) {
          assert.deepEqual(rows[at], expected, `${label} ${which}`);
        }
      });
    }
    for (const { name } of THERE.filter(({ hasMetadataTables }) => hasMetadataTables)) {
      await t.step(`${name}: metadata tables`, async () => {
        const looked = await runPython("look_back.py", [name, address]);
        const { snapshots, rows } = JSON.parse(looked);
        for (const { snapshot } of states) assert.ok(snapshots.includes(snapshot), snapshot);
        if (name !== "clickhouse") assert.equal(rows, last.rows.length);
      });
    }
    if (!THERE.some(({ name }) => name === "pyiceberg")) return;
    await t.step("a reader that is slow reads its snapshot though it has expired", async () => {
      await using reader = startPython("read_state.py", [
        ...["slow", address, `${first.snapshot}:${first.columns}`],
      ]);
      assert.equal(await reader.line(), "planned");
      await expire(lab);
      assert.deepEqual(rowsOf([[first.snapshot, first]], await reader.rest()), [first.rows]);
    });
    for (const { name } of THERE) {
      await t.step(`${name} after expiry`, async () => {
        assert.deepEqual(await read(name, address, [["current", last]]), [last.rows]);
      });
    }
    await t.step("a snapshot that has expired is refused", async () => {
      await assert.rejects(read("pyiceberg", address, [[first.snapshot, first]]), /not found/i);
    });
  },
});
