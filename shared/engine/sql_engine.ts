/** The engine while it is open: one database, a connection per statement. */

import { Deadline } from "./deadline.ts";
import type { EngineConnection, EngineDatabase } from "./driver.ts";
import { faultError } from "./fault_error.ts";
import { type PrepareDeps, prepareStatement } from "./prepare.ts";
import { PreparedStatement } from "./prepared_statement.ts";
import type { Engine, PreparedQuery, QueryRequest } from "./types.ts";

export interface SqlEngineOptions {
  readonly database: EngineDatabase;
  /** A connection of its own for `ping`, so that a busy engine is not taken for a dead one. */
  readonly probe: EngineConnection;
  readonly prepare: PrepareDeps;
}

const PING_MS_MAX = 5_000;

export class SqlEngine implements Engine {
  readonly #database: EngineDatabase;
  readonly #probe: EngineConnection;
  readonly #deps: PrepareDeps;

  constructor({ database, probe, prepare }: SqlEngineOptions) {
    this.#database = database;
    this.#probe = probe;
    this.#deps = prepare;
  }

  async prepare(request: QueryRequest): Promise<PreparedQuery> {
    const deadline = new Deadline(request.deadlineMs, request.signal);
    let connection: EngineConnection | undefined;
    try {
      connection = await this.#database.connect(deadline.signal, request.tenant);
      deadline.watch(connection);
      const prepared = await prepareStatement(connection, request, { deps: this.#deps, deadline });
      return new PreparedStatement(prepared, {
        connection,
        deadline,
        rowsMax: request.rowsMax,
        nowMs: this.#deps.nowMs,
      });
    } catch (error) {
      const reason = deadline.signal.aborted ? deadline.signal.reason : faultError(error);
      deadline[Symbol.dispose]();
      await connection?.release();
      throw reason;
    }
  }

  async ping(): Promise<void> {
    using deadline = new Deadline(PING_MS_MAX);
    deadline.watch(this.#probe);
    try {
      await this.#probe.texts("SELECT 1");
      await this.#deps.catalog.ping();
    } catch (error) {
      deadline.check();
      throw faultError(error);
    }
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
