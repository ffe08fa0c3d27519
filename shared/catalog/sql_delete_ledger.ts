/**
 * `DeleteLedger` for both databases; the table is in `sqlite_schema.ts`. Each change is one
 * statement, or a few in one transaction.
 */

import { OperatingError } from "../base/errors.ts";
import type {
  DeleteClaimRequest,
  DeleteLedger,
  DeleteProgress,
  DeleteTask,
  DeleteTaskStatus,
  NewDeleteTask,
} from "./delete_ledger.ts";
import {
  integerOfRow,
  parsedOf,
  sql,
  type SqlDatabase,
  type SqlRow,
  type SqlStatement,
  textOfRow,
  type Transaction,
} from "./sql_database.ts";
import { hasRunOut, type SqlDialect } from "./sql_dialect.ts";

const STATUSES: ReadonlySet<string> = new Set<DeleteTaskStatus>([
  "pending",
  "running",
  "done",
  "failed",
]);

const COLUMNS = "task_id, table_namespace, table_name, table_uuid, epoch, predicate, start_ns, " +
  "end_ns, status, created_ms, started_ms, ended_ms, attempts, files_total, files_done, " +
  "rows_matched, rows_deleted, files_rewritten, error, claimant, claimed_ms, expires_ms, awaited";

const RAN_OUT = "attempts ended without a word: the compactors that ran it were stopped, or ran " +
  "out of time or memory";

export class SqlDeleteLedger implements DeleteLedger {
  readonly #database: SqlDatabase;
  readonly #dialect: Pick<SqlDialect, "nowMs">;

  /** Closes `database` with it. */
  constructor(database: SqlDatabase, dialect: Pick<SqlDialect, "nowMs">) {
    this.#database = database;
    this.#dialect = dialect;
  }

  submit(task: NewDeleteTask, unfinishedMax: number): Promise<DeleteTask | undefined> {
    const { namespace, name } = task.ident;
    return this.#one("record a delete task", () =>
      sql(
        "INSERT INTO svc_delete_tasks (task_id, table_namespace, table_name, table_uuid, epoch, " +
          "predicate, start_ns, end_ns, status, created_ms) " +
          `SELECT $1, CAST($2 AS VARCHAR(255)), $3, $4, CAST($5 AS INTEGER), $6, $7, $8, 'pending', ${this.#dialect.nowMs()} ` +
          "WHERE CAST($9 AS INTEGER) > (SELECT count(*) FROM svc_delete_tasks " +
          "WHERE table_namespace = $2 AND ended_ms IS NULL) " +
          `RETURNING ${this.#columns()}`,
        [
          task.taskId,
          namespace,
          name,
          task.tableUuid ?? null,
          task.epoch,
          task.predicate,
          task.startNs?.toString() ?? null,
          task.endNs?.toString() ?? null,
          unfinishedMax,
        ],
      ));
  }

  find(namespace: string, taskId: string): Promise<DeleteTask | undefined> {
    return this.#one("read a delete task", () =>
      sql(
        `SELECT ${this.#columns()} FROM svc_delete_tasks ` +
          "WHERE table_namespace = $1 AND task_id = $2",
        [namespace, taskId],
      ));
  }

  list(namespace: string, max: number): Promise<readonly DeleteTask[]> {
    return this.#all("list delete tasks", () =>
      sql(
        `SELECT ${this.#columns()} FROM svc_delete_tasks WHERE table_namespace = $1 ` +
          "ORDER BY created_ms DESC, task_id DESC LIMIT $2",
        [namespace, max],
      ));
  }

  claimable(max: number): Promise<readonly DeleteTask[]> {
    const rank = (partition: string, order: string) =>
      `row_number() OVER (PARTITION BY ${partition} ORDER BY ${order} created_ms, task_id)`;
    const inTables = `SELECT *, ${rank("table_namespace, table_name", "")} AS table_rank ` +
      `FROM svc_delete_tasks WHERE ended_ms IS NULL AND ${hasRunOut(this.#dialect, "expires_ms")}`;
    const inNamespaces = `SELECT *, ${rank("table_namespace", "table_rank,")} AS namespace_rank ` +
      `FROM (${inTables}) AS in_tables`;
    return this.#all("list delete tasks", () =>
      sql(
        `SELECT ${this.#columns()} FROM (${inNamespaces}) AS in_namespaces ` +
          "ORDER BY namespace_rank, created_ms, task_id LIMIT $1",
        [max],
      ));
  }

  async awaitSegments(taskId: string, segments: readonly string[]): Promise<readonly string[]> {
    const task = await this.#one("record what a delete task waits for", () =>
      sql(
        "UPDATE svc_delete_tasks SET awaited = COALESCE(awaited, $2) WHERE task_id = $1 " +
          `RETURNING ${this.#columns()}`,
        [taskId, JSON.stringify(segments)],
      ));
    return task?.awaited ?? segments;
  }

  claim(request: DeleteClaimRequest): Promise<DeleteTask | undefined> {
    const { taskId, claimant, token, leaseMs, attemptsMax } = request;
    const nowMs = () => this.#dialect.nowMs();
    const hasEnded = (column: string) => hasRunOut(this.#dialect, column);
    const columns = this.#columns();
    return this.#database.transaction("claim a delete task", function* () {
      yield sql(
        "UPDATE svc_delete_tasks SET status = 'failed', " +
          `ended_ms = ${nowMs()}, claimant = NULL, token = NULL, ` +
          "error = COALESCE(error, attempts || $3) WHERE task_id = $1 AND attempts >= $2 " +
          `AND ended_ms IS NULL AND ${hasEnded("expires_ms")}`,
        [taskId, attemptsMax, ` ${RAN_OUT}`],
      );
      const [claimed] = yield sql(
        "UPDATE svc_delete_tasks SET status = 'running', claimant = $2, token = $3, " +
          `claimed_ms = ${nowMs()}, expires_ms = ${nowMs()} + CAST($4 AS BIGINT), ` +
          `started_ms = COALESCE(started_ms, ${nowMs()}), attempts = attempts + 1, ` +
          "files_total = 0, files_done = 0, rows_matched = 0 " +
          `WHERE task_id = $1 AND ended_ms IS NULL AND ${hasEnded("expires_ms")} ` +
          "AND NOT EXISTS (SELECT 1 FROM svc_delete_tasks AS other " +
          "WHERE other.table_namespace = svc_delete_tasks.table_namespace " +
          "AND other.table_name = svc_delete_tasks.table_name AND other.token IS NOT NULL " +
          "AND other.task_id <> $1 AND other.ended_ms IS NULL " +
          `AND NOT ${hasEnded("other.expires_ms")}) ` +
          `RETURNING ${columns}`,
        [taskId, claimant, token, leaseMs],
      );
      return claimed === undefined ? undefined : taskOf(claimed);
    });
  }

  renew(
    token: string,
    { leaseMs, progress }: { readonly leaseMs: number; readonly progress: DeleteProgress },
  ): Promise<boolean> {
    return this.#changes("renew the claim of a delete task", () =>
      sql(
        `UPDATE svc_delete_tasks SET expires_ms = ${this.#dialect.nowMs()} + ` +
          "CAST($2 AS BIGINT), files_total = $3, files_done = $4, rows_matched = $5 " +
          `WHERE ${this.#isHeld()} RETURNING 1 AS one`,
        [token, leaseMs, progress.filesTotal, progress.filesDone, progress.rowsMatched],
      ));
  }

  finishEmpty(token: string): Promise<boolean> {
    return this.#changes("end a delete task", () =>
      sql(
        `UPDATE svc_delete_tasks SET status = 'done', ended_ms = ${this.#dialect.nowMs()}, ` +
          `error = NULL, claimant = NULL, token = NULL WHERE ${this.#isHeld()} RETURNING 1 AS one`,
        [token],
      ));
  }

  fail(token: string, error: string): Promise<boolean> {
    return this.#changes("end a delete task", () =>
      sql(
        `UPDATE svc_delete_tasks SET status = 'failed', ended_ms = ${this.#dialect.nowMs()}, ` +
          `error = $2, claimant = NULL, token = NULL WHERE ${this.#isHeld()} RETURNING 1 AS one`,
        [token, error],
      ));
  }

  release(
    token: string,
    { error, delayMs, attemptsMax }: {
      readonly error?: string;
      readonly delayMs: number;
      readonly attemptsMax: number;
    },
  ): Promise<boolean> {
    const nowMs = this.#dialect.nowMs();
    if (error === undefined) {
      return this.#changes("release a delete task", () =>
        sql(
          "UPDATE svc_delete_tasks SET status = 'pending', claimant = NULL, token = NULL, " +
            `expires_ms = 0, attempts = attempts - 1 WHERE ${this.#isHeld()} RETURNING 1 AS one`,
          [token],
        ));
    }
    return this.#changes("release a delete task", () =>
      sql(
        "UPDATE svc_delete_tasks SET claimant = NULL, token = NULL, error = $2, " +
          `expires_ms = ${nowMs} + CAST($3 AS BIGINT), ` +
          "status = CASE WHEN attempts >= $4 THEN 'failed' ELSE 'pending' END, " +
          `ended_ms = CASE WHEN attempts >= $4 THEN ${nowMs} END ` +
          `WHERE ${this.#isHeld()} RETURNING 1 AS one`,
        [token, error, delayMs, attemptsMax],
      ));
  }

  unfinished(): Promise<Readonly<Record<"pending" | "running", number>>> {
    return this.#database.transaction("count delete tasks", function* () {
      const rows = yield sql(
        "SELECT status, count(*) AS n FROM svc_delete_tasks WHERE ended_ms IS NULL GROUP BY status",
      );
      const counts = new Map(rows.map((row) => [textOfRow(row, "status"), integerOfRow(row, "n")]));
      return { pending: counts.get("pending") ?? 0, running: counts.get("running") ?? 0 };
    });
  }

  forgetEnded(ageMs: number): Promise<number> {
    const nowMs = this.#dialect.nowMs();
    return this.#database.transaction("forget delete tasks", function* () {
      const gone = yield sql(
        `DELETE FROM svc_delete_tasks WHERE ended_ms <= ${nowMs} - CAST($1 AS BIGINT) ` +
          "RETURNING 1 AS one",
        [ageMs],
      );
      return gone.length;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]();
  }

  #columns(): string {
    return `${COLUMNS}, ${this.#dialect.nowMs()} AS now_ms`;
  }

  /** $1 is the token. */
  #isHeld(): string {
    return `token = $1 AND ended_ms IS NULL AND expires_ms > ${this.#dialect.nowMs()}`;
  }

  async #one(verb: string, statement: () => SqlStatement): Promise<DeleteTask | undefined> {
    const [task] = await this.#all(verb, statement);
    return task;
  }

  #all(verb: string, statement: () => SqlStatement): Promise<readonly DeleteTask[]> {
    return this.#database.transaction(verb, function* (): Transaction<readonly DeleteTask[]> {
      return (yield statement()).map(taskOf);
    });
  }

  #changes(verb: string, statement: () => SqlStatement): Promise<boolean> {
    return this.#database.transaction(verb, function* (): Transaction<boolean> {
      return (yield statement()).length > 0;
    });
  }
}

function taskOf(row: SqlRow): DeleteTask {
  return {
    taskId: textOfRow(row, "task_id"),
    ident: { namespace: textOfRow(row, "table_namespace"), name: textOfRow(row, "table_name") },
    tableUuid: optional(row, "table_uuid", textOfRow),
    epoch: integerOfRow(row, "epoch"),
    predicate: textOfRow(row, "predicate"),
    startNs: optional(row, "start_ns", nanosOf),
    endNs: optional(row, "end_ns", nanosOf),
    status: statusOf(row),
    createdMs: integerOfRow(row, "created_ms"),
    ageMs: Math.max(0, integerOfRow(row, "now_ms") - integerOfRow(row, "created_ms")),
    startedMs: optional(row, "started_ms", integerOfRow),
    endedMs: optional(row, "ended_ms", integerOfRow),
    attempts: integerOfRow(row, "attempts"),
    progress: {
      filesTotal: integerOfRow(row, "files_total"),
      filesDone: integerOfRow(row, "files_done"),
      rowsMatched: integerOfRow(row, "rows_matched"),
    },
    rowsDeleted: integerOfRow(row, "rows_deleted"),
    filesRewritten: integerOfRow(row, "files_rewritten"),
    error: optional(row, "error", textOfRow),
    claim: optional(row, "claimant", (_, column) => {
      const claimedMs = integerOfRow(row, "claimed_ms");
      return {
        claimant: textOfRow(row, column),
        claimedMs,
        expiresMs: integerOfRow(row, "expires_ms"),
        ageMs: Math.max(0, integerOfRow(row, "now_ms") - claimedMs),
      };
    }),
    awaited: optional(row, "awaited", namesOf),
  };
}

function optional<T>(
  row: SqlRow,
  column: string,
  read: (row: SqlRow, column: string) => T,
): T | undefined {
  return row[column] === null ? undefined : read(row, column);
}

function statusOf(row: SqlRow): DeleteTaskStatus {
  const status = textOfRow(row, "status");
  if (STATUSES.has(status)) return status as DeleteTaskStatus;
  throw new OperatingError(
    "corrupt",
    `Cannot read the status ${JSON.stringify(status)} of a delete task in the catalog`,
  );
}

function nanosOf(row: SqlRow, column: string): bigint {
  const text = textOfRow(row, column);
  if (/^-?\d{1,19}$/.test(text)) return BigInt(text);
  throw new OperatingError("corrupt", `Cannot read ${column} in the catalog: it is ${text}`);
}

function namesOf(row: SqlRow, column: string): readonly string[] {
  return parsedOf(row, column, (names) => {
    if (Array.isArray(names) && names.every((name) => typeof name === "string")) return names;
    throw new Error("it is no list of names");
  });
}
