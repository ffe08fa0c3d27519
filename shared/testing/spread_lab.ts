/**
 * Statements that are cut in two, in one DuckDB and without servers. There are tables, whole and in
 * parts. The worker's half runs over each part, and the merge over what came of that.
 */

import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from "@duckdb/node-api";
import { nameTables } from "../engine/bind/table_names.ts";
import type { EngineConnection, EngineDatabase } from "../engine/duckdb/driver.ts";
import { nativeDriver } from "../engine/duckdb/native_driver.ts";
import { AVERAGE_PROBE } from "../engine/functions/exact_average.ts";
import { DIALECT_SETUP, renameFunctions } from "../engine/functions/dialect.ts";
import { gate } from "../engine/gate/gate.ts";
import { splitStatement } from "../engine/spread/split_statement.ts";
import {
  type NotSplit,
  PARTS_TABLE,
  type SplitStatement,
  type SpreadTable,
} from "../engine/spread/types.ts";
import { parse, type Statement, textOfTree } from "../engine/statement/parse.ts";
import type { Column } from "../schema/schema.ts";

/** A table of the lab. `rows`: SQL that gives its rows. */
export interface SpreadLabTable {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: string;
  /** What the lab says of its size; the largest is cut. */
  readonly bytes: number;
}

/** Columns as DuckDB names and types them, and rows. */
export interface SpreadAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly DuckDBValue[])[];
}

export class SpreadLab implements AsyncDisposable {
  private constructor(
    private readonly tables: readonly SpreadLabTable[],
    private readonly instance: DuckDBInstance,
    /** Reads the whole tables, and tables in parts that the lab made. */
    readonly duckdb: DuckDBConnection,
    private readonly database: EngineDatabase,
    private readonly connection: EngineConnection,
    private readonly averages: boolean,
    private readonly dir: string,
  ) {}

  static async open(tables: readonly SpreadLabTable[]): Promise<SpreadLab> {
    const dir = await Deno.makeTempDir({ prefix: "spread-lab-" });
    const driver = nativeDriver({ readFile: (path) => Deno.readFile(path) });
    const database = await driver.open({
      readableDirs: [dir],
      scratchDir: dir,
      memoryBytesMax: 256 * 2 ** 20,
      spillBytesMax: 2 ** 20,
      threads: 1,
      connections: 1,
      setup: DIALECT_SETUP,
    });
    const connection = await database.connect(new AbortController().signal);
    const instance = await DuckDBInstance.create(":memory:", { threads: "2" });
    const duckdb = await instance.connect();
    for (const sql of ["SET TimeZone = 'UTC'", ...DIALECT_SETUP]) await duckdb.run(sql);
    for (const { name, rows } of tables) {
      await duckdb.run(`CREATE TABLE "${name}" AS ${rows}`);
      // What nameTables makes of a qualified name.
      await duckdb.run(`CREATE VIEW "svc.${name}" AS FROM "${name}"`);
    }
    const [[average] = []] = (await duckdb.runAndReadAll(AVERAGE_PROBE.sql)).getRows();
    const averages = average === AVERAGE_PROBE.expected;
    return new SpreadLab(tables, instance, duckdb, database, connection, averages, dir);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.duckdb.closeSync();
    this.instance.closeSync();
    await this.connection.release();
    await this.database.close();
    await Deno.remove(this.dir, { recursive: true });
  }

  /** Puts the rows of a table into `parts` tables; `place` is SQL for the part of a row. */
  async cut(table: string, parts: number, place: string): Promise<void> {
    for (let part = 0; part < parts; part += 1) {
      const schema = schemaOf(table, { parts, part });
      await this.duckdb.run(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      await this.duckdb.run(
        `CREATE OR REPLACE TABLE ${schema}."${table}" AS
           SELECT * FROM main."${table}" WHERE (${place}) = ${part}`,
      );
    }
  }

  /** Cuts a statement. By default all of its rows are wanted. */
  async split(
    sql: string,
    also: { readonly rowsMax?: number; readonly shipBytesMax?: number } = {},
  ): Promise<SplitStatement | NotSplit> {
    const statement = await this.#parse(sql);
    const tables: SpreadTable[] = this.tables.map(({ name, columns, bytes }) => ({
      ...{ name, columns, bytes },
    }));
    return await splitStatement(statement, {
      tables,
      textOf: (document) => textOfTree(this.connection, document),
      describe: (text, relations) => this.connection.describe(text, relations),
      averages: this.averages,
      rowsMax: also.rowsMax ?? Infinity,
      ...also,
    });
  }

  /** The answer of a statement over the whole tables. */
  async whole(sql: string): Promise<SpreadAnswer> {
    const { document, root } = await this.#parse(sql);
    renameFunctions(root);
    nameTables(root, gate(root, { namespace: "svc", database: "svc" }).references);
    return await this.#answer(await textOfTree(this.connection, document));
  }

  /** The answer of its halves, of `parts` parts that were made before. */
  async spread(
    { workerSql, mergeSql, table }: SplitStatement,
    parts: number,
  ): Promise<SpreadAnswer> {
    // The gate lets both halves through.
    for (const sql of [workerSql, mergeSql]) {
      gate((await this.#parse(sql)).root, { namespace: "svc" });
    }
    for (let part = 0; part < parts; part += 1) {
      await this.duckdb.run(`SET search_path = '${schemaOf(table, { parts, part })},main'`);
      await this.duckdb.run(
        part === 0
          ? `CREATE OR REPLACE TEMP TABLE ${PARTS_TABLE} AS ${workerSql}`
          : `INSERT INTO ${PARTS_TABLE} ${workerSql}`,
      );
    }
    await this.duckdb.run("SET search_path = 'main'");
    return await this.#answer(mergeSql);
  }

  async #parse(sql: string): Promise<Statement> {
    return await parse((text) => this.connection.serialize(text), sql);
  }

  async #answer(sql: string): Promise<SpreadAnswer> {
    const reader = await this.duckdb.runAndReadAll(sql);
    const types = reader.columnTypes();
    return {
      columns: reader.columnNames().map((name, i) => `${name} ${types[i]}`),
      rows: reader.getRows(),
    };
  }
}

function schemaOf(
  table: string,
  { parts, part }: { readonly parts: number; readonly part: number },
): string {
  return `${table}_${parts}_${part}`;
}
