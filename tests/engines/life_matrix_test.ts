/**
 * Engines of Python find each state of a table's life by its snapshot and its time; a reader that
 * is slow reads on while its snapshot expires. The engines of the JVM do it in `tests/engines_jvm`.
 */

import assert from "node:assert/strict";
import { startEngineStack } from "./lab.ts";
import { hasPackages, runPython, startPython } from "./python.ts";
import { expire, live, rowText, type TableState } from "./table_life.ts";
import type { TalkingProcess } from "./talking_process.ts";

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

/** Rows of a state as an engine reads it, in the form of `TableState.rows`. */
async function read(
  reader: TalkingProcess,
  { columns }: TableState,
  at: string,
): Promise<readonly string[]> {
  await reader.tell(`${at}:${columns}`);
  return await rowsThatFollow(reader, columns);
}

/** What `read_state.py` prints of a state. */
async function rowsThatFollow(
  reader: TalkingProcess,
  columns: readonly string[],
): Promise<readonly string[]> {
  const rows: string[] = [];
  for (let left = Number(await reader.line()); left > 0; left -= 1) {
    rows.push(rowText(columns, JSON.parse(await reader.line())));
  }
  return rows.toSorted();
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
    // Each starts once.
    await using readers = new AsyncDisposableStack();
    const engines = THERE.map((engine) => {
      const reader = readers.use(startPython("read_state.py", [engine.name, address]));
      return { ...engine, reader };
    });
    const states = await live(lab, async (state) => {
      // Who finds no older states reads each while it is the current one.
      for (const { name, reader } of engines.filter(({ finds }) => finds === undefined)) {
        await t.step(`${name}: ${state.label}`, async () => {
          assert.deepEqual(await read(reader, state, "current"), state.rows);
        });
      }
    });
    const sizes = states.map(({ rows }) => rows.length);
    assert.deepEqual(sizes, [12, 21, 20, 24, 16]);
    const [first] = states;
    const last = states.at(-1);
    assert.ok(first !== undefined && last !== undefined);
    for (const { name, finds, reader } of engines) {
      if (finds === undefined) continue;
      await t.step(`${name}: each state ${finds}`, async () => {
        for (const state of states) {
          const ways: string[] = [state.snapshot];
          if (finds === "by id and time") ways.push(`@${state.committedMs}`);
          for (const at of ways) {
            assert.deepEqual(await read(reader, state, at), state.rows, `${state.label} ${at}`);
          }
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
    const pyiceberg = engines.find(({ name }) => name === "pyiceberg");
    if (pyiceberg === undefined) return;
    await t.step("a reader that is slow reads its snapshot though it has expired", async () => {
      await using slow = startPython("read_state.py", [
        ...["slow", address, `${first.snapshot}:${first.columns}`],
      ]);
      assert.equal(await slow.line(), "planned");
      await expire(lab);
      await slow.end();
      assert.deepEqual(await rowsThatFollow(slow, first.columns), first.rows);
    });
    for (const { name, reader } of engines) {
      await t.step(`${name} after expiry`, async () => {
        assert.deepEqual(await read(reader, last, "current"), last.rows);
      });
    }
    await t.step("a snapshot that has expired is refused", async () => {
      await assert.rejects(read(pyiceberg.reader, first, first.snapshot), /not found/i);
    });
  },
});
