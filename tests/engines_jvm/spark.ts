/** Spark with one of Iceberg's runtimes, as a process that answers statements. */

import type { EngineStack } from "../engines/lab.ts";
import { TalkingProcess } from "../engines/talking_process.ts";
import { ICEBERG_VERSIONS, type IcebergVersion, JARS, PYTHON } from "./places.ts";

export interface AskSpark {
  /** How it finds the table; default `rest`. */
  readonly catalog?: "rest" | "jdbc";
  /** What the session says of vectorized reads; default nothing, so the table decides. */
  readonly vectorized?: boolean;
}

export interface SparkOptions {
  /** Default: the newest. */
  readonly iceberg?: IcebergVersion;
  /** Further properties of the catalog. */
  readonly properties?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Further jars, by their files' names. */
  readonly jars?: readonly string[];
}

export class Spark implements AsyncDisposable {
  readonly #process: TalkingProcess;

  private constructor(process: TalkingProcess) {
    this.#process = process;
  }

  static async start(
    { stack, address }: EngineStack,
    { iceberg = ICEBERG_VERSIONS[3], properties = {}, env = {}, jars = [] }: SparkOptions = {},
  ): Promise<Spark> {
    const names = [
      `iceberg-spark-runtime-3.5_2.12-${iceberg}.jar`,
      "sqlite-jdbc-3.50.3.0.jar",
      ...jars,
    ];
    const warehouse = `${stack.dataDir}/warehouse`;
    const process = new TalkingProcess(PYTHON, [
      new URL("spark_statements.py", import.meta.url).pathname,
      names.map((name) => `${JARS}/${name}`).join(","),
      ...[address, `jdbc:sqlite:${warehouse}/catalog.db`, `file://${warehouse}`],
      ...Object.entries(properties).map(([name, value]) => `${name}=${value}`),
    ], { PYTHONDONTWRITEBYTECODE: "1", ...env });
    const spark = new Spark(process);
    try {
      await process.line();
      return spark;
    } catch (error) {
      await process[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Rows of a statement. Errors: an `Error` with what Spark says. */
  async sql(sql: string, options: AskSpark = {}): Promise<unknown[][]> {
    return (await this.#ask(sql, options)).rows;
  }

  /** How many data files the scans of a statement read. Errors: as `sql`. */
  async files(sql: string): Promise<number> {
    return (await this.#ask(sql, {})).files;
  }

  /** Commits a file of equality deletes for the rows with that text. Errors: as `sql`. */
  async deleteByValue(raw: string): Promise<void> {
    await this.#tell({ catalog: "rest", vectorized: null, deleted: raw });
  }

  async #ask(
    sql: string,
    { catalog = "rest", vectorized }: AskSpark,
  ): Promise<{ readonly rows: unknown[][]; readonly files: number }> {
    return await this.#tell({ catalog, vectorized: vectorized ?? null, sql });
  }

  async #tell(
    question: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly rows: unknown[][]; readonly files: number }> {
    await this.#process.tell(JSON.stringify(question));
    const { rows, files, error } = JSON.parse(await this.#process.line());
    if (error !== undefined) throw new Error(error);
    return { rows, files };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }
}
