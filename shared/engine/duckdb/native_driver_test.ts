import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { concatBytes } from "../../base/bytes.ts";
import type { OperatingError } from "../../base/errors.ts";
import { DRIVERS } from "../../testing/engine_drivers.ts";
import {
  type EngineConnection,
  type EngineDriver,
  EngineFault,
  type RunStatement,
} from "./driver.ts";
import { faultError } from "./fault_error.ts";
import { faultKindOf } from "./native_connection.ts";

interface Lab extends AsyncDisposable {
  readonly dir: string;
  readonly connection: EngineConnection;
}

async function openLab(
  driver: EngineDriver,
  limits = { memoryBytesMax: 256 * 2 ** 20, spillBytesMax: 2 ** 20 },
): Promise<Lab> {
  const dir = await Deno.makeTempDir({ prefix: "native-driver-" });
  for (const name of ["readable", "scratch", "secret"]) await Deno.mkdir(`${dir}/${name}`);
  await Deno.writeTextFile(`${dir}/readable/a.csv`, "x\n1\n");
  await Deno.writeTextFile(`${dir}/secret/a.csv`, "x\n2\n");
  const database = await driver.open({
    readableDirs: [`${dir}/readable`],
    scratchDir: `${dir}/scratch`,
    ...limits,
    threads: 2,
    connections: 1,
    setup: ["CREATE MACRO seven() AS 7"],
  });
  const connection = await database.connect(new AbortController().signal);
  return {
    dir,
    connection,
    [Symbol.asyncDispose]: async () => {
      await connection.release();
      await database.close();
      await Deno.remove(dir, { recursive: true });
    },
  };
}

Deno.test({
  name: "the pieces of an Arrow message are copies, which may be read once their chunk is gone",
  async fn() {
    const { nativeDriver: driver } = DRIVERS;
    await using lab = await openLab(present(driver));
    const sql = "SELECT CASE WHEN i % 500 = 9 THEN 'short' ELSE repeat('x', 200 + i) END " +
      "FROM range(2000) r(i)";
    const arrow = { types: [{ kind: "utf8" }], rowsMax: 2_000 } as const;
    let longPieces = 0;
    for await (const chunk of lab.connection.rows({ sql, arrow })) {
      const whole = chunk.bytes();
      const pieces = chunk.pieces?.() ?? [];
      deepStrictEqual(concatBytes(pieces), whole);
      longPieces += pieces.filter(({ byteLength }) => byteLength > 65_536).length;
      for (const piece of pieces) piece.fill(0);
      // What is written to them is not written to DuckDB's memory.
      deepStrictEqual(chunk.bytes(), whole);
    }
    ok(longPieces > 0);
  },
});

/** Statements that the gate never lets through: the second wall must stand without the first. */
const OUT_OF_REACH: readonly string[] = [
  "SELECT * FROM read_csv('DIR/secret/a.csv')",
  "SELECT * FROM 'DIR/secret/a.csv'",
  "SELECT * FROM read_text('DIR/readable/../secret/a.csv')",
  "SELECT * FROM read_text('/etc/passwd')",
  "SELECT * FROM glob('/etc/*')",
  "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
  "COPY (SELECT 1) TO 'DIR/secret/out.csv'",
  "ATTACH 'DIR/secret/x.db'",
  "INSTALL httpfs",
  "LOAD 'DIR/secret/x.duckdb_extension'",
  "SET memory_limit = '100GB'",
  "SET enable_external_access = true",
  "SET lock_configuration = false",
  "SET allowed_directories = ['/']",
  "SET TimeZone = 'Europe/Berlin'",
  "RESET threads",
];

for (const [label, driver] of Object.entries(DRIVERS)) {
  Deno.test({
    name: `${label} keeps files, extensions and settings out of reach without the gate`,
    fn: async (t) => {
      await using lab = await openLab(driver);
      for (const template of OUT_OF_REACH) {
        await t.step(template, async () => {
          await rejects(lab.connection.texts(template.replaceAll("DIR", lab.dir)), EngineFault);
        });
      }
      const readable = `SELECT x::VARCHAR FROM read_csv('${lab.dir}/readable/a.csv')`;
      deepStrictEqual(await lab.connection.texts(readable), [["1"]]);
    },
  });

  Deno.test({
    name: `${label}, EngineConnection setup, tree and back, types, plan, rows`,
    fn: async () => {
      await using lab = await openLab(driver);
      const { connection } = lab;
      deepStrictEqual(await connection.texts("SELECT seven()::VARCHAR"), [["7"]]);
      const tree = await connection.serialize("SELECT  1 -- one");
      strictEqual(await connection.deserialize(tree), "SELECT 1");
      ok((await connection.serialize("SELEC")).includes(`"error":true`));
      const sql = "SELECT {'a': [1.5::DECIMAL(4,2)]} AS s, MAP {'k': 1} AS m";
      const columns = await connection.describe(sql, []);
      deepStrictEqual(columns.map(({ name, type }) => [name, type.kind, type.text]), [
        ["s", "STRUCT", `STRUCT("a" DECIMAL(4,2)[])`],
        ["m", "MAP", "MAP(VARCHAR, INTEGER)"],
      ]);
      strictEqual(columns[0]?.type.fields?.[0]?.type.item?.kind, "DECIMAL");
      ok((await connection.explain("SELECT 1")).includes("DUMMY_SCAN"));
      // Whatever the database was set up with, statements are optimized.
      const always = await connection.explain("SELECT i FROM range(3) t(i) WHERE 1 = 1");
      ok(always.includes("RANGE") && !always.includes("FILTER"), always);
      strictEqual(await textOfRows(connection, "SELECT 'a,' FROM range(3)"), "a,a,a,");
      // Both connections of the pair, whatever zone the machine is in.
      const zone = "SELECT current_setting('TimeZone')";
      deepStrictEqual(await connection.texts(zone), [["UTC"]]);
      strictEqual(await textOfRows(connection, zone), "UTC");
    },
  });

  Deno.test({
    name: `${label}, EngineConnection.profile is of the last rows only`,
    fn: async () => {
      await using lab = await openLab(driver);
      const { connection } = lab;
      strictEqual(await connection.profile(), undefined);
      await textOfRows(connection, "SELECT 'x'");
      deepStrictEqual(await connection.profile(), { rowsScanned: 0, filesRead: 0, spillBytes: 0 });
      await connection.texts("SELECT 2");
      deepStrictEqual(await connection.profile(), { rowsScanned: 0, filesRead: 0, spillBytes: 0 });
      await rejects(textOfRows(connection, "SELECT error('no')"), EngineFault);
      strictEqual(await connection.profile(), undefined);
    },
  });

  Deno.test({
    name:
      `${label}, EngineConnection.profile does not charge a statement with what earlier ones spilled`,
    fn: async () => {
      await using lab = await openLab(driver, {
        memoryBytesMax: 128 * 2 ** 20,
        spillBytesMax: 2 ** 30,
      });
      const { connection } = lab;
      const spillOf = async (sql: string) => {
        await textOfRows(connection, `SELECT x::VARCHAR FROM (${sql}) AS t(x)`);
        return (await connection.profile())?.spillBytes;
      };
      strictEqual(await spillOf("SELECT 1 AS x"), 0);
      const sorted = `SELECT count(*) FROM (SELECT *, row_number() OVER (ORDER BY text) AS n
      FROM (SELECT repeat(md5(i::VARCHAR), 6) AS text FROM range(500000) t(i))) WHERE n = 7`;
      ok((await spillOf(sorted) ?? 0) > 0);
      strictEqual(await spillOf("SELECT 1 AS x"), 0);
      strictEqual(await spillOf("SELECT 2 AS x"), 0);
    },
  });

  Deno.test({
    name:
      `${label}, EngineConnection.describe leaves none of its relations behind, also when it fails`,
    fn: async () => {
      await using lab = await openLab(driver);
      const { connection } = lab;
      const relations = [{ name: `odd "name"`, select: "SELECT 5 AS x" }];
      const columns = await connection.describe(`SELECT * FROM "odd ""name"""`, relations);
      deepStrictEqual(columns.map(({ name, type }) => [name, type.kind]), [["x", "INTEGER"]]);
      await rejects(connection.describe(`SELECT nope FROM "odd ""name"""`, relations), EngineFault);
      const views = "SELECT view_name FROM duckdb_views() WHERE NOT internal";
      deepStrictEqual(await connection.texts(views), []);
    },
  });

  Deno.test({
    name: `${label}, EngineConnection.rows of a whole answer are those that come as they are made`,
    fn: async () => {
      await using lab = await openLab(driver);
      const { connection } = lab;
      const whole = (sql: string, values: readonly string[] = []) =>
        textOfRows(connection, sql, { values, isMeasured: false, isWhole: true });
      const sql = "SELECT i || repeat('ß', i % 9) || ',' FROM range(10000) AS t(i)";
      const expected = await textOfRows(connection, sql);
      // The second time it is a kept statement.
      for (let round = 0; round < 2; round += 1) strictEqual(await whole(sql), expected);
      strictEqual(await whole("SELECT $1 || ','", ["a"]), "a,");
      strictEqual(await whole("SELECT 'a' WHERE false"), "");
      await rejects(whole("SELECT error('no')"), EngineFault);
      // A reader that stops taking rows leaves nothing behind.
      const few = connection.rows({ sql, isMeasured: false, isWhole: true });
      for await (const chunk of few) {
        ok(chunk.rowCount > 0);
        break;
      }
      strictEqual(await whole(sql), expected);
    },
  });

  Deno.test({
    name:
      `${label}, EngineConnection.rows brings every byte of short, long and empty texts, in order`,
    fn: async () => {
      await using lab = await openLab(driver);
      // Lengths around the 12 bytes up to which a text lies in its row, over many chunks.
      const sql = "SELECT CASE WHEN i % 5 = 0 THEN repeat('ß€😀', i % 9) " +
        "ELSE repeat(chr(97 + i % 26), i % 31) END FROM (SELECT i::INTEGER AS i FROM range(10000) AS t(i))";
      const expected = Array.from(
        { length: 10_000 },
        (_, i) =>
          i % 5 === 0 ? "ß€😀".repeat(i % 9) : String.fromCharCode(97 + i % 26).repeat(i % 31),
      );
      strictEqual(await textOfRows(lab.connection, sql), expected.join(""));
      for await (
        const chunk of lab.connection.rows({ sql: "SELECT i || ',' FROM range(100) AS t(i)" })
      ) {
        strictEqual(new TextDecoder().decode(chunk.bytes(3)), "0,1,2,");
        strictEqual(chunk.rowCount, 100);
      }
    },
  });

  Deno.test({
    name: `${label}, EngineConnection.rows fails where the statement does, however late`,
    fn: async () => {
      await using lab = await openLab(driver);
      const { connection } = lab;
      const sql = (late: number) =>
        `SELECT CASE WHEN i < ${late} THEN i || $1::VARCHAR\nELSE (i || 'x')::INTEGER::VARCHAR END ` +
        "FROM range(2000000) AS t(i)";
      for (const late of [0, 1_000_000, 1_999_999]) {
        let rows = 0;
        const read = async () => {
          const statement = { sql: sql(late), values: [" of 2,000,000"] };
          for await (const { rowCount } of connection.rows(statement)) rows += rowCount;
        };
        await rejects(read, { kind: "statement", message: /'\d+x' to INT32\s+LINE 2: ELSE/ });
        ok(rows <= late && (rows > 0) === (late > 0), `${rows} of ${late}`);
        strictEqual(await connection.profile(), undefined);
      }
      strictEqual(await textOfRows(connection, "SELECT 'goes on'"), "goes on");
    },
  });

  Deno.test({
    name:
      `${label}, EngineConnection.rows a failure that has passed says so, and is result_cut_short`,
    fn: async () => {
      await using lab = await openLab(driver);
      const { connection } = lab;
      await connection.texts("CREATE SEQUENCE attempts");
      const sql = "SELECT CASE WHEN i < 1999999 THEN 'x' WHEN nextval('attempts') = 1 " +
        "THEN error('once') ELSE 'y' END FROM range(2000000) AS t(i)";
      const failure = await textOfRows(connection, sql).catch((error) => error);
      strictEqual(failure.kind, "passed");
      const { httpStatus, reason, retryAfterSecs } = faultError(failure) as OperatingError;
      deepStrictEqual([httpStatus, reason, retryAfterSecs], [503, "result_cut_short", 1]);
    },
  });

  Deno.test({
    name: `${label}, EngineConnection.rows runs the same text anew each time`,
    fn: async () => {
      await using lab = await openLab(driver);
      const { connection } = lab;
      const sql = `SELECT epoch_us(now()) || ',' || x FROM read_csv('${lab.dir}/readable/a.csv')`;
      const [firstUs, first] = (await textOfRows(connection, sql)).split(",");
      await Deno.writeTextFile(`${lab.dir}/readable/a.csv`, "x\n7\n");
      const [secondUs, second] = (await textOfRows(connection, sql)).split(",");
      deepStrictEqual([first, second], ["1", "7"]);
      ok(BigInt(secondUs ?? "") > BigInt(firstUs ?? ""));
      ok(await connection.profile() !== undefined);
    },
  });
}

/** The texts of a statement's rows, one after another. */
async function textOfRows(
  connection: EngineConnection,
  sql: string,
  how: Omit<RunStatement, "sql"> = {},
): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of connection.rows({ sql, ...how })) parts.push(chunk.bytes());
  return new TextDecoder().decode(concatBytes(parts));
}

Deno.test({
  name: "faultKindOf by the engine's first words",
  fn: () => {
    const cases: readonly (readonly [string, string])[] = [
      ["INTERRUPT Error: Interrupted!", "interrupted"],
      ["Out of Memory Error: failed to offload data block", "memory"],
      ["IO Error: No files found", "io"],
      ["INTERNAL Error: x", "internal"],
      ["FATAL Error: x", "internal"],
      ["Binder Error: x", "statement"],
      ["Conversion Error: x", "statement"],
    ];
    for (const [message, kind] of cases) strictEqual(faultKindOf(message), kind);
  },
});
