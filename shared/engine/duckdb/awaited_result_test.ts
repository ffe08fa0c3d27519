import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { DuckDBPreparedStatement, DuckDBResult } from "@duckdb/node-api";
import { concatBytes } from "../../base/bytes.ts";
import { until } from "../../testing/until.ts";
import { awaitedResult, Company } from "./awaited_result.ts";
import { DRIVERS } from "../../testing/engine_drivers.ts";
import { type EngineConnection, type EngineDriver, EngineFault } from "./driver.ts";

const READY = 0;
const FAILED = 2;
const BUSY = 3;

/** A statement whose threads are in `states` one after the other. */
function pendingOf(states: readonly number[]) {
  const asked: number[] = [];
  const result = {} as DuckDBResult;
  const executed: number[] = [];
  const pending = {
    pending_result: {},
    getResult: () => {
      executed.push(asked.length);
      return Promise.resolve(result);
    },
  };
  const prepared = { startStream: () => pending } as unknown as DuckDBPreparedStatement;
  const pending_execute_check_state = () => {
    const state = states[asked.length] ?? READY;
    asked.push(state);
    return state;
  };
  return { binding: { pending_execute_check_state }, prepared, result, asked, executed };
}

Deno.test({
  name: "awaitedResult executes a statement once its rows are there, or it has failed",
  fn: async () => {
    for (const end of [READY, FAILED]) {
      const { binding, prepared, result, executed } = pendingOf([BUSY, BUSY, 1, end, BUSY]);
      strictEqual(await awaitedResult(binding, prepared, () => true), result);
      deepStrictEqual(executed, [4]);
    }
  },
});

Deno.test({
  name: "awaitedResult executes a statement as soon as it must not wait",
  fn: async () => {
    const { binding, prepared, asked, executed } = pendingOf([BUSY, BUSY, BUSY, BUSY, BUSY]);
    await awaitedResult(binding, prepared, () => asked.length < 3);
    deepStrictEqual(executed, [3]);
  },
});

Deno.test("Company.isAlone is true while one statement runs", () => {
  const company = new Company();
  const first = company.enter();
  ok(company.isAlone);
  const second = company.enter();
  ok(!company.isAlone);
  first[Symbol.dispose]();
  ok(company.isAlone);
  second[Symbol.dispose]();
  ok(!company.isAlone);
});

async function withConnections(
  driver: EngineDriver,
  use: (first: EngineConnection, second: EngineConnection) => Promise<void>,
  threads = 2,
): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "awaited-result-" });
  const database = await driver.open({
    readableDirs: [],
    scratchDir: dir,
    memoryBytesMax: 256 * 2 ** 20,
    spillBytesMax: 2 ** 20,
    threads,
    connections: 2,
    setup: ["CREATE TABLE numbers AS SELECT i FROM range(1000000) t(i)"],
  });
  const connect = () => database.connect(new AbortController().signal);
  try {
    await use(await connect(), await connect());
  } finally {
    await database.close();
    await Deno.remove(dir, { recursive: true });
  }
}

async function shortText(connection: EngineConnection, sql: string): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of connection.rows({ sql, isShort: true })) parts.push(chunk.bytes());
  return new TextDecoder().decode(concatBytes(parts));
}

/** Takes long, in steps between which it can be interrupted. */
const LONG = `SELECT max(${"md5(".repeat(200)}i::VARCHAR${")".repeat(200)}) FROM numbers`;

for (const [label, driver] of Object.entries(DRIVERS)) {
  Deno.test({
    name: `${label}, EngineConnection.rows of a short statement are those of any other`,
    fn: () =>
      withConnections(driver, async (connection) => {
        // More than DuckDB makes ahead, so that its threads wait for the reader, too.
        const sql = "SELECT i || ',' FROM numbers WHERE i < 200000 ORDER BY i DESC";
        const expected = Array.from({ length: 200_000 }, (_, i) => `${199_999 - i},`).join("");
        strictEqual(await shortText(connection, sql), expected);
        ok(await connection.profile() !== undefined);
        for (const bad of ["SELECT error('no')", "SELECT (i || 'x')::INTEGER FROM numbers"]) {
          await rejects(shortText(connection, bad), { kind: "statement" });
        }
        await rejects(shortText(connection, "SELECT nope FROM numbers"), EngineFault);
        strictEqual(await shortText(connection, "SELECT 'goes on'"), "goes on");
      }),
  });

  Deno.test({
    name: `${label}, EngineConnection.interrupt ends a short statement`,
    fn: () =>
      withConnections(driver, async (connection) => {
        const ended = rejects(shortText(connection, LONG), { kind: "interrupted" });
        await until(() => connection.progress().rows > 0);
        connection.interrupt();
        await ended;
        strictEqual(await shortText(connection, "SELECT 'goes on'"), "goes on");
      }),
  });

  Deno.test({
    name: `${label}, a short statement ends beside others that have all of DuckDB's threads`,
    fn: () =>
      withConnections(driver, async (first, second) => {
        const long = rejects(shortText(first, LONG), { kind: "interrupted" });
        await until(() => first.progress().rows > 0);
        strictEqual(await shortText(second, "SELECT sum(i)::VARCHAR FROM numbers"), "499999500000");
        first.interrupt();
        await long;
      }),
  });

  Deno.test({
    name: `${label}, a short statement runs where DuckDB has no threads of its own`,
    fn: () =>
      withConnections(driver, async (connection) => {
        strictEqual(
          await shortText(connection, "SELECT sum(i)::VARCHAR FROM numbers"),
          "499999500000",
        );
      }, 1),
  });
}
