import { match, ok, rejects, strictEqual } from "node:assert/strict";
import { threadSecs } from "../testing/threads.ts";
import type { EngineConnection, EngineDatabase } from "./driver.ts";
import { threadDriver, type ThreadDriverOptions } from "./thread_driver.ts";

const ignore = Deno.build.os !== "linux";
/** No other thread has it. */
const NICENESS = 7;
/** Takes long, and is counted as it goes on. */
const LONG = `SELECT max(${"md5(".repeat(40)}i::VARCHAR${")".repeat(40)}) FROM numbers`;

async function withDatabase(
  use: (connection: EngineConnection, database: EngineDatabase) => Promise<void>,
  options: ThreadDriverOptions = { niceness: NICENESS },
): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "thread-driver-" });
  try {
    const database = await threadDriver(options).open({
      readableDirs: [],
      scratchDir: dir,
      memoryBytesMax: 256 * 2 ** 20,
      spillBytesMax: 2 ** 20,
      threads: 2,
      connections: 1,
      setup: ["CREATE TABLE numbers AS SELECT i FROM range(3000000) t(i)"],
    });
    try {
      await use(await database.connect(new AbortController().signal), database);
    } finally {
      await database.close();
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Set in a process that runs one test alone: threads of other files' tests would be counted as ours. */
const ALONE = "SVC_TEST_ALONE";
const OF_ITS_NICENESS = "threadDriver takes processor time on threads of its niceness alone";

Deno.test({
  name: OF_ITS_NICENESS,
  ignore,
  fn: async () => {
    if (Deno.env.has(ALONE)) return await comparesThreads();
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "-A", "--no-check", "--filter", OF_ITS_NICENESS, import.meta.url],
      env: { [ALONE]: "1" },
      stdin: "null",
    }).output();
    const text = new TextDecoder();
    ok(success, text.decode(stdout) + text.decode(stderr));
    match(text.decode(stdout), /1 passed/);
  },
});

function comparesThreads(): Promise<void> {
  return withDatabase(async (connection) => {
    const before = { own: await threadSecs(0), theirs: await threadSecs(NICENESS) };
    const sql = "SELECT count(*)::VARCHAR FROM range(200000000) t(i) WHERE i % 7 = 3";
    for await (const chunk of connection.rows({ sql })) strictEqual(chunk.rowCount, 1);
    const own = await threadSecs(0) - before.own;
    const theirs = await threadSecs(NICENESS) - before.theirs;
    ok(theirs > 5 * own, `${theirs} s of theirs, ${own} s of ours`);
  });
}

Deno.test({
  name: "threadDriver gives no database where the priority cannot be lowered",
  ignore,
  fn: async () => {
    const opened = withDatabase(() => Promise.resolve(), { niceness: 99 });
    await rejects(opened, { kind: "internal" });
  },
});

Deno.test({
  name: "threadDriver gives up a thread that opens no engine in time",
  ignore,
  fn: async () => {
    const opened = withDatabase(() => Promise.resolve(), { niceness: NICENESS, openMsMax: 1 });
    await rejects(opened, { code: "deadline_exceeded", message: /within 1 ms/ });
  },
});

Deno.test({
  name: "threadDriver, EngineConnection.interrupt ends what runs, and progress tells of it before",
  ignore,
  fn: () =>
    withDatabase(async (connection) => {
      const ended = rejects(readAll(connection, LONG), { kind: "interrupted" });
      for (let at = 0; at < 1_000 && connection.progress().rows === 0; at += 1) await sleep(10);
      ok(connection.progress().rows > 0);
      connection.interrupt();
      await ended;
      strictEqual(await readAll(connection, "SELECT 'x' FROM range(3000)"), 3000);
    }),
});

Deno.test({
  name:
    "threadDriver, EngineConnection.release ends what runs, and the next one has the connection",
  ignore,
  fn: () =>
    withDatabase(async (connection, database) => {
      const ended = rejects(readAll(connection, LONG), { kind: "interrupted" });
      const next = database.connect(new AbortController().signal);
      await sleep(50);
      await connection.release();
      await ended;
      strictEqual(await readAll(await next, "SELECT 'x'"), 1);
    }),
});

Deno.test({
  name: "threadDriver, EngineDatabase.close ends what runs, whose connection can be released then",
  ignore,
  fn: () =>
    withDatabase(async (connection, database) => {
      const ended = rejects(readAll(connection, LONG), { kind: "interrupted" });
      await sleep(50);
      await database.close();
      await ended;
      await rejects(connection.texts("SELECT 1"), { kind: "interrupted" });
      await connection.release();
    }),
});

async function readAll(connection: EngineConnection, sql: string): Promise<number> {
  let rows = 0;
  for await (const chunk of connection.rows({ sql })) rows += chunk.rowCount;
  return rows;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
