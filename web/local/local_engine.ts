/**
 * DuckDB in a worker of the page. It is loaded with the first local table. Its rows are in memory;
 * `local_store.ts` keeps what survives a reload.
 */

import { AsyncDuckDB, type AsyncDuckDBConnection, VoidLogger } from "@duckdb/duckdb-wasm";

import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import type { Value } from "../api/sql_client.ts";
import { arrowStream } from "./arrow_stream.ts";
import { LOCAL_SCHEMA, LOCAL_SETUP } from "./local_dialect.ts";
import { localValue, localValueSql } from "./local_values.ts";
import wasmFile from "./wasm_file.js";

export interface LocalAnswer {
  readonly columns: readonly string[];
  readonly types: readonly string[];
  readonly rows: readonly (readonly Value[])[];
  /** Whether there are more rows than were asked. */
  readonly truncated: boolean;
}

/** A step that takes longer hears of no stop: then the worker goes, with its rows. */
const STOP_MS_MAX = 2_000;

export class LocalEngine {
  readonly #worker: Worker;
  readonly #database: AsyncDuckDB;
  readonly #connection: AsyncDuckDBConnection;
  /** One thing at a time: the worker has one thread. */
  #last: Promise<unknown> = Promise.resolve();
  /** What waits for the worker fails when it is closed. */
  readonly #gone = Promise.withResolvers<never>();
  #isClosed = false;

  private constructor(
    worker: Worker,
    database: AsyncDuckDB,
    connection: AsyncDuckDBConnection,
  ) {
    this.#worker = worker;
    this.#database = database;
    this.#connection = connection;
    this.#gone.promise.catch(() => {});
  }

  /** Whether another one has to be opened. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Loads DuckDB and starts it. Errors: those of the network and of WebAssembly. */
  static async open(): Promise<LocalEngine> {
    const worker = await startWorker();
    try {
      const database = new AsyncDuckDB(new VoidLogger(), worker);
      await database.instantiate(new URL(wasmFile, import.meta.url).href);
      await database.open({});
      const connection = await database.connect();
      for (const sql of LOCAL_SETUP) await connection.query(sql);
      return new LocalEngine(worker, database, connection);
    } catch (error) {
      worker.terminate();
      throw error;
    }
  }

  /** Makes a table of an Arrow IPC stream or file; returns its rows. */
  take(table: string, bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    return this.#alone(async () => {
      const name = qualified(table);
      await this.#connection.query(`DROP TABLE IF EXISTS ${name}`);
      // The worker takes the bytes away from this thread.
      const stream = arrowStream(bytes).slice();
      await this.#connection.insertArrowFromIPCStream(stream, {
        name: table,
        schema: LOCAL_SCHEMA,
        create: true,
      });
      for (const [column, type] of await this.#describe(`FROM ${name}`)) {
        if (type !== "TIMESTAMP WITH TIME ZONE") continue;
        const quoted = quoteName(column);
        await this.#connection.query(
          `ALTER TABLE ${name} ALTER ${quoted} TYPE TIMESTAMP ` +
            `USING make_timestamp(epoch_us(${quoted}))`,
        );
      }
      const counted = await this.#connection.query(`SELECT count(*)::INTEGER FROM ${name}`);
      return Number(counted.getChildAt(0)?.get(0));
    });
  }

  drop(table: string): Promise<void> {
    return this.#alone(async () => {
      await this.#connection.query(`DROP TABLE IF EXISTS ${qualified(table)}`);
    });
  }

  /** Runs a statement that only reads. `signal` stops it. Errors: DuckDB's; the signal's reason. */
  run(
    sql: string,
    { rowsMax, signal }: { readonly rowsMax: number; readonly signal: AbortSignal },
  ): Promise<LocalAnswer> {
    return this.#alone(async () => {
      signal.throwIfAborted();
      const described = await this.#describe(sql);
      const types = described.map(([, type]) => type);
      const values = types.map((type, at) => `${localValueSql(`c${at}`, type)} AS c${at}`);
      const names = types.map((_, at) => `c${at}`);
      const rows = await this.#rows(
        // The statement stands on lines of its own, so places in messages are one line off.
        `SELECT ${values.join(", ")} FROM (\n${sql}\n) AS r(${names.join(", ")}) ` +
          `LIMIT ${rowsMax + 1}`,
        { types, signal },
      );
      return {
        columns: described.map(([name]) => name),
        types,
        rows: rows.slice(0, rowsMax),
        truncated: rows.length > rowsMax,
      };
    });
  }

  /** Returns the rows of a statement as an Arrow IPC file. */
  arrowOf(
    sql: string,
    { rowsMax }: { readonly rowsMax: number },
  ): Promise<Uint8Array<ArrayBuffer>> {
    return this.#alone(() =>
      this.#database.runQuery(
        this.#connection.useUnsafe((_, connection) => connection),
        `SELECT * FROM (\n${sql}\n) LIMIT ${rowsMax}`,
      ) as Promise<Uint8Array<ArrayBuffer>>
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#worker.terminate();
    this.#gone.reject(new Error("DuckDB in the page was closed"));
  }

  async #describe(sql: string): Promise<readonly (readonly [name: string, type: string])[]> {
    const table = await this.#connection.query(`DESCRIBE SELECT * FROM (\n${sql}\n)`);
    const [names, types] = [table.getChildAt(0), table.getChildAt(1)];
    return Array.from({ length: table.numRows }, (_, at) =>
      [
        String(names?.get(at)),
        String(types?.get(at)),
      ] as const);
  }

  async #rows(
    sql: string,
    { types, signal }: { readonly types: readonly string[]; readonly signal: AbortSignal },
  ): Promise<readonly (readonly Value[])[]> {
    // A stop that came while the columns were asked for is told to nobody below.
    signal.throwIfAborted();
    const rows: Value[][] = [];
    let closing: ReturnType<typeof setTimeout> | undefined;
    const stop = () => {
      void this.#connection.cancelSent();
      closing = setTimeout(() => this.close(), STOP_MS_MAX);
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      // A streamed result would be made in one step, in which the worker hears of no stop.
      for await (const batch of await this.#connection.send(sql, false)) {
        const columns = types.map((_, at) => batch.getChildAt(at));
        for (let at = 0; at < batch.numRows; at += 1) {
          rows.push(columns.map((column, c) => localValue(column?.get(at), types[c] ?? "")));
        }
        signal.throwIfAborted();
      }
      return rows;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(closing);
      signal.removeEventListener("abort", stop);
    }
  }

  #alone<T>(act: () => Promise<T>): Promise<T> {
    const mine = Promise.race([this.#last.then(act), this.#gone.promise]);
    this.#last = mine.catch(() => {});
    return mine;
  }
}

function qualified(table: string): string {
  return `${LOCAL_SCHEMA}.${quoteName(table)}`;
}

/** Starts the worker, and waits until it takes messages. */
async function startWorker(): Promise<Worker> {
  const { WORKER_READY, workerUrl } = await import("./worker_entry.ts");
  const worker = new Worker(workerUrl, { type: "module" });
  const ready = Promise.withResolvers<void>();
  const listening = new AbortController();
  const { signal } = listening;
  worker.addEventListener("message", ({ data }) => data === WORKER_READY && ready.resolve(), {
    signal,
  });
  worker.addEventListener("error", () => ready.reject(new Error("DuckDB's worker did not start")), {
    signal,
  });
  await ready.promise.finally(() => listening.abort());
  return worker;
}
