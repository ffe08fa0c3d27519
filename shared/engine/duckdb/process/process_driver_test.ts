import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { DenoFileSystem } from "../../../os/deno_file_system.ts";
import { EXPANDING, HANGING } from "../../../testing/hanging_statement.ts";
import { processesBelow } from "../../../testing/processes.ts";
import { threadSecs } from "../../../testing/threads.ts";
import { until } from "../../../testing/until.ts";
import type { EngineConnection, EngineDatabase } from "../driver.ts";
import type { EngineEnd } from "./engine_client.ts";
import { processDriver, type ProcessDriverOptions } from "./process_driver.ts";

const ignore = Deno.build.os !== "linux";
const NICENESS = 7;
const IDLE_MS = 40;
/** Takes long, and is counted as it goes on. */
const LONG = `SELECT max(${"md5(".repeat(40)}i::VARCHAR${")".repeat(40)}) FROM numbers`;
interface Lab {
  readonly dir: string;
  readonly database: EngineDatabase;
  readonly connection: EngineConnection;
  readonly ends: EngineEnd[];
  /** How often statements were interrupted because of memory. */
  readonly tooLarge: number[];
  connect(): Promise<EngineConnection>;
}

async function withLab(
  use: (lab: Lab) => Promise<void>,
  options: Partial<ProcessDriverOptions> = {},
): Promise<void> {
  const late = options.openMsMax === undefined ? "" : "late-";
  const dir = await Deno.makeTempDir({ prefix: `process-driver-${late}` });
  const ends: EngineEnd[] = [];
  const tooLarge: number[] = [];
  try {
    const database = await processDriver({
      engine: "light",
      headroomBytes: 2 ** 30,
      files: new DenoFileSystem(),
      meter: {
        ended: (_, reason) => ends.push(reason),
        tooLarge: () => tooLarge.push(Date.now()),
      },
      ...options,
    }).open({
      readableDirs: [],
      scratchDir: dir,
      memoryBytesMax: 256 * 2 ** 20,
      spillBytesMax: 2 ** 20,
      threads: 2,
      connections: 2,
      setup: ["CREATE TABLE numbers AS SELECT i FROM range(1000000) t(i)"],
    });
    const connect = () => database.connect(new AbortController().signal);
    try {
      await use({ dir, database, connection: await connect(), ends, tooLarge, connect });
    } finally {
      await database.close();
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test({
  name: "processDriver, EngineConnection.interrupt ends what runs, and progress tells of it before",
  ignore,
  fn: () =>
    withLab(async ({ connection, ends }) => {
      const ended = rejects(readAll(connection, LONG), { kind: "interrupted" });
      for (let at = 0; at < 1_000 && connection.progress().rows === 0; at += 1) await sleep(10);
      ok(connection.progress().rows > 0);
      connection.interrupt();
      await ended;
      strictEqual(await readAll(connection, "SELECT 'x' FROM range(3000)"), 3000);
      strictEqual(ends.length, 0);
    }),
});

Deno.test({
  name:
    "processDriver, EngineConnection.release ends what runs, and the next one has the connection",
  ignore,
  fn: () =>
    withLab(async ({ connection, connect }) => {
      await connect();
      const ended = rejects(readAll(connection, LONG), { kind: "interrupted" });
      const next = connect();
      await sleep(50);
      await connection.release();
      await ended;
      await rejects(connection.texts("SELECT 1"), { kind: "interrupted" });
      strictEqual(await readAll(await next, "SELECT 'x'"), 1);
    }),
});

Deno.test({
  name: "processDriver, idleMsMax: the process ends when no connection is lent, and comes back",
  ignore,
  fn: () =>
    withLab(async ({ dir, database, connection, ends, connect }) => {
      const probe = await database.connect(new AbortController().signal, { isProbe: true });
      for (let times = 1; times <= 2; times += 1) {
        const lent = times === 1 ? connection : await connect();
        strictEqual(await readAll(lent, "SELECT 'x' FROM numbers LIMIT 7"), 7);
        // It does not end meanwhile.
        await sleep(5 * IDLE_MS);
        strictEqual((await processesBelow(Deno.pid, dir)).length, 1);
        ok((database.residentBytes ?? 0) > 0);
        await lent.release();
        await until(async () => (await processesBelow(Deno.pid, dir)).length === 0);
        deepStrictEqual(
          [database.isResting, database.problem, database.residentBytes],
          [true, undefined, 0],
        );
      }
      await rejects(probe.texts("SELECT 1"), { kind: "lost" });
      strictEqual(ends.length, 0);
      await probe.release();
    }, { idleMsMax: IDLE_MS }),
});

Deno.test({
  name: "processDriver, idleMsMax: a process that replaced another while nobody asked rests, too",
  ignore,
  fn: () =>
    withLab(async ({ dir, database, connection, ends }) => {
      const [pid] = await processesBelow(Deno.pid, dir);
      Deno.kill(Number(pid), "SIGKILL");
      await until(() => ends.length === 1);
      await connection.release();
      await until(() => database.isResting === true);
      await until(async () => (await processesBelow(Deno.pid, dir)).length === 0);
      strictEqual(database.problem, undefined);
    }, { idleMsMax: IDLE_MS }),
});

for (const [what, idleBytesMax, times] of [["more", -1, 1], ["no more", undefined, 0]] as const) {
  Deno.test({
    name: `processDriver: a process is renewed ${times} times that takes ${what} than it may idle`,
    ignore,
    fn: () =>
      withLab(async ({ dir, connection, ends, tooLarge, connect }) => {
        const [first] = await processesBelow(Deno.pid, dir);
        const other = await connect();
        await connection.release();
        strictEqual(await readAll(other, "SELECT 'x' FROM numbers LIMIT 7"), 7);
        deepStrictEqual(await processesBelow(Deno.pid, dir), [first], "it is at work");
        await other.release();
        strictEqual(await readAll(await connect(), "SELECT 'x' FROM numbers LIMIT 7"), 7);
        const [second] = await processesBelow(Deno.pid, dir);
        strictEqual(second !== first, times > 0);
        deepStrictEqual([ends, tooLarge], [[], []]);
      }, idleBytesMax === undefined ? {} : { idleBytesMax }),
  });
}

Deno.test({
  name: "processDriver, EngineDatabase.close ends what runs, whose connection can be released then",
  ignore,
  fn: () =>
    withLab(async ({ connection, database }) => {
      const ended = rejects(readAll(connection, LONG), { kind: "interrupted" });
      await sleep(50);
      await database.close();
      await ended;
      await rejects(connection.texts("SELECT 1"), { kind: "interrupted" });
      await connection.release();
    }),
});

Deno.test({
  name: "processDriver replaces a process whose statement does not end when it is interrupted",
  ignore,
  fn: () =>
    withLab(async ({ connection, database, ends, connect }) => {
      const other = await connect();
      strictEqual((await other.texts("SELECT 1"))[0]?.[0], "1");
      const ended = rejects(readAll(connection, HANGING), { kind: "lost" });
      await sleep(100);
      // It is another one's, and in the same process.
      const long = rejects(readAll(other, LONG.replace("numbers", "range(300000000) t(i)")), {
        kind: "lost",
        message: /work for "nobody" went on for \d+ ms after it was interrupted/,
      });
      strictEqual(database.problem, undefined);
      connection.interrupt();
      await ended;
      await long;
      match(database.problem ?? "", /is being replaced/);
      await connection.release();
      await other.release();
      const next = await connect();
      strictEqual(await readAll(next, "SELECT 'x' FROM numbers"), 1_000_000);
      strictEqual(database.problem, undefined);
      strictEqual(String(ends), "deadline");
    }),
});

Deno.test({
  name: "processDriver, EngineDatabase.close comes to its end although a statement does not",
  ignore,
  fn: () =>
    withLab(async ({ dir, connection, database }) => {
      const ended = rejects(readAll(connection, HANGING), { kind: "interrupted" });
      await sleep(100);
      await database.close();
      await ended;
      strictEqual((await processesBelow(Deno.pid, dir)).length, 0);
    }),
});

Deno.test({
  name: "processDriver replaces a process that was killed, and tells who waited for it",
  ignore,
  fn: () =>
    withLab(async ({ dir, connection, ends, connect }) => {
      const ended = rejects(readAll(connection, LONG), { kind: "lost", message: /SIGKILL/ });
      const [pid = 0] = await processesBelow(Deno.pid, dir);
      Deno.kill(pid, "SIGKILL");
      await ended;
      await connection.release();
      strictEqual(await readAll(await connect(), "SELECT 'x'"), 1);
      strictEqual(String(ends), "exited");
    }),
});

Deno.test({
  name: "processDriver interrupts what makes more memory than the process may take",
  ignore,
  fn: () =>
    withLab(async ({ connection, ends, tooLarge, connect }) => {
      await rejects(readAll(connection, EXPANDING), { kind: "memory" });
      ok(tooLarge.length > 0 || String(ends) === "memory");
      await connection.release();
      strictEqual(await readAll(await connect(), "SELECT 'x'"), 1);
    }, { headroomBytes: 200 * 2 ** 20 }),
});

Deno.test({
  name: "processDriver takes processor time on threads of its niceness alone",
  ignore,
  fn: () =>
    withLab(async ({ dir, connection }) => {
      const [pid = 0] = await processesBelow(Deno.pid, dir);
      const before = { usual: await threadSecs(pid, 0), low: await threadSecs(pid, NICENESS) };
      const sql = "SELECT count(*)::VARCHAR FROM range(100000000) t(i) WHERE i % 7 = 3";
      strictEqual(await readAll(connection, sql), 1);
      const usual = await threadSecs(pid, 0) - before.usual;
      const low = await threadSecs(pid, NICENESS) - before.low;
      ok(low > 0.1 && low > 5 * usual, `${low} s of low priority, ${usual} s of usual`);
    }, { niceness: NICENESS }),
});

Deno.test({
  name: "processDriver gives no database where the priority cannot be lowered",
  ignore,
  fn: async () => {
    const opened = withLab(() => Promise.resolve(), { niceness: 99 });
    await rejects(opened, { code: "unavailable", reason: "engine_not_loaded" });
  },
});

Deno.test({
  name: "processDriver gives up a process that opens no database in time",
  ignore,
  fn: async () => {
    const opened = withLab(() => Promise.resolve(), { openMsMax: 1 });
    await rejects(opened, { code: "deadline_exceeded", message: /within 1 ms/ });
    await until(async () => (await processesBelow(Deno.pid, "process-driver-late-")).length === 0);
  },
});

async function readAll(connection: EngineConnection, sql: string): Promise<number> {
  let rows = 0;
  for await (const chunk of connection.rows({ sql })) rows += chunk.rowCount;
  return rows;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
