/**
 * `JobStore` for both databases; the tables are in `job_schema.ts`. Statements that change several
 * rows take them in order of their ids, so that two of them wait for each other and do not
 * deadlock.
 */

import { OperatingError } from "../base/errors.ts";
import { isJobStatus, JOB_TRANSITIONS, type JobStatus, OPEN_STATUSES } from "./job_states.ts";
import type { JobTransitionName } from "./job_states.ts";
import {
  type AbandonedJob,
  COMPUTED_TOO_LATE,
  EXECUTOR_GONE,
  type JobEnd,
  type JobProgress,
  type JobReport,
  type JobRow,
  type JobStore,
  type NewJob,
  type StoredResult,
} from "./job_store.ts";
import {
  integerOfRow,
  sql,
  type SqlDatabase,
  type SqlRow,
  type SqlStatement,
  textOfRow,
  type Transaction,
} from "./sql_database.ts";
import type { SqlDialect } from "./sql_dialect.ts";

export interface JobDialect extends SqlDialect {
  /**
   * Tells the other processes that the job of $1 has ended; undefined where they cannot be told.
   */
  readonly tellEnd?: string;
}

const JOB_COLUMNS = "job_id, status, query, submitted_ms, started_ms, ended_ms, cost, " +
  "progress_rows, progress_percent, error";
const ERROR_LENGTH_MAX = 4_000;

export class SqlJobStore implements JobStore {
  readonly #database: SqlDatabase;
  readonly #dialect: JobDialect;

  /** Closes `database` with it. */
  constructor(database: SqlDatabase, dialect: JobDialect) {
    this.#database = database;
    this.#dialect = dialect;
  }

  async submit({ id, namespace, query, owner, leaseMs }: NewJob): Promise<void> {
    const now = this.#dialect.nowMs();
    const [status] = JOB_TRANSITIONS.submit.to;
    await this.#database.transaction("submit a job", function* () {
      yield sql(
        "INSERT INTO svc_jobs (job_id, table_namespace, status, query, owner, lease_ends_ms, " +
          `submitted_ms) VALUES ($1, $2, $3, $4, $5, ${now} + CAST($6 AS BIGINT), ${now}) ` +
          "ON CONFLICT (job_id) DO NOTHING",
        [id, namespace, status, query, owner ?? null, leaseMs],
      );
    });
  }

  publish(id: string, owner: string, leaseMs: number): Promise<boolean> {
    const now = this.#dialect.nowMs();
    return this.#database.transaction("begin a job", function* () {
      const rows = yield sql(
        "UPDATE svc_jobs SET status = 'running', owner = $2, " +
          `started_ms = COALESCE(started_ms, ${now}), lease_ends_ms = ${now} + CAST($3 AS BIGINT) ` +
          `WHERE job_id = $1 AND ${isFrom("publish")} AND (owner = $2 OR owner IS NULL) ` +
          "RETURNING job_id",
        [id, owner, leaseMs],
      );
      return rows.length > 0;
    });
  }

  renew(owner: string, ids: readonly string[], leaseMs: number): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return Promise.resolve(new Set());
    const { texts } = this.#dialect;
    const now = this.#dialect.nowMs();
    return this.#database.transaction("renew job leases", function* () {
      return idsOf(
        yield sql(
          `UPDATE svc_jobs SET lease_ends_ms = ${now} + CAST($3 AS BIGINT) WHERE owner = $1 ` +
            `AND ${IS_OPEN} AND job_id IN (SELECT value FROM ${texts(2)}) RETURNING job_id`,
          [owner, JSON.stringify([...ids].sort()), leaseMs],
        ),
      );
    });
  }

  report(owner: string, reports: readonly JobReport[]): Promise<ReadonlySet<string>> {
    if (reports.length === 0) return Promise.resolve(new Set());
    const ordered = [...reports].sort((a, b) => a.id < b.id ? -1 : 1);
    return this.#database.transaction("report on jobs", function* () {
      const open = new Set<string>();
      for (const { id, cost, progress } of ordered) {
        const rows = yield sql(
          "UPDATE svc_jobs SET cost = COALESCE($3, cost), progress_rows = $4, " +
            `progress_percent = $5 WHERE job_id = $1 AND owner = $2 AND ${IS_OPEN} RETURNING job_id`,
          [id, owner, cost ?? null, progress.rows, progress.percent ?? null],
        );
        if (rows.length > 0) open.add(id);
      }
      return open;
    });
  }

  finish(id: string, owner: string, end: JobEnd): Promise<boolean> {
    return this.#database.transaction("finish a job", () => this.#finish(id, owner, end));
  }

  cancel(
    namespace: string,
    id: string,
  ): Promise<{ readonly done: boolean; readonly status: JobStatus } | undefined> {
    return this.#database.transaction("cancel a job", () => this.#cancel(namespace, id));
  }

  job(namespace: string, id: string): Promise<JobRow | undefined> {
    return this.#database.transaction("read a job", function* () {
      const [row] = yield sql(
        `SELECT ${JOB_COLUMNS} FROM svc_jobs WHERE job_id = $1 AND table_namespace = $2`,
        [id, namespace],
      );
      return row === undefined ? undefined : jobOf(row);
    });
  }

  jobs(
    namespace: string,
    { max, queryLengthMax, before }: Parameters<JobStore["jobs"]>[1],
  ): Promise<JobRow[]> {
    // A statement may be as long as a request, and a page has many.
    const columns = JOB_COLUMNS.replace("query", "substr(query, 1, $3) AS query");
    return this.#database.transaction("list jobs", function* () {
      const rows = yield sql(
        `SELECT ${columns} FROM svc_jobs WHERE table_namespace = $1` +
          (before === undefined ? "" : " AND job_id < $4") +
          " ORDER BY job_id DESC LIMIT $2",
        [namespace, max, queryLengthMax, ...before === undefined ? [] : [before]],
      );
      return rows.map(jobOf);
    });
  }

  result(namespace: string, id: string): Promise<StoredResult | undefined> {
    return this.#database.transaction("read a job's result", function* () {
      const [row] = yield sql(
        "SELECT head, tail, rows_text, parts FROM svc_job_results AS r " +
          "JOIN svc_jobs AS j ON j.job_id = r.job_id " +
          "WHERE j.job_id = $1 AND j.table_namespace = $2 AND j.status = 'succeeded'",
        [id, namespace],
      );
      if (row === undefined) return undefined;
      return {
        head: textOfRow(row, "head"),
        tail: textOfRow(row, "tail"),
        rows: textOrNothing(row, "rows_text"),
        parts: integerOfRow(row, "parts"),
      };
    });
  }

  abandoned(
    { ownerlessGraceMs, max }: { readonly ownerlessGraceMs: number; readonly max: number },
  ): Promise<AbandonedJob[]> {
    const isAbandoned = this.#isAbandoned();
    return this.#database.transaction("look for abandoned jobs", function* () {
      const rows = yield sql(
        "SELECT job_id, owner, CASE WHEN owner IS NULL THEN submitted_ms ELSE lease_ends_ms END " +
          `AS since_ms FROM svc_jobs WHERE ${isAbandoned} ORDER BY job_id LIMIT $2`,
        [ownerlessGraceMs, max],
      );
      return rows.map((row) => ({
        id: textOfRow(row, "job_id"),
        owner: textOrNothing(row, "owner"),
        sinceMs: integerOfRow(row, "since_ms"),
      }));
    });
  }

  condemn(
    id: string,
    { error, ownerlessGraceMs }: { readonly error: string; readonly ownerlessGraceMs: number },
  ): Promise<boolean> {
    const now = this.#dialect.nowMs();
    const isAbandoned = this.#isAbandoned();
    const tellEnd = this.#tellEnd(id);
    return this.#database.transaction("end an abandoned job", function* () {
      const rows = yield sql(
        `UPDATE svc_jobs SET status = 'failed', ended_ms = ${now}, error = $3 ` +
          `WHERE job_id = $2 AND ${isFrom("condemn")} AND ${isAbandoned} RETURNING job_id`,
        [ownerlessGraceMs, id, kept(error)],
      );
      if (rows.length > 0) yield* tellEnd();
      return rows.length > 0;
    });
  }

  expire(
    { ageMsMin, max }: { readonly ageMsMin: number; readonly max: number },
  ): Promise<string[]> {
    const now = this.#dialect.nowMs();
    const removeResults = this.#removeResults();
    return this.#database.transaction("remove expired jobs", function* () {
      const rows = yield sql(
        `DELETE FROM svc_jobs WHERE job_id IN (SELECT job_id FROM svc_jobs WHERE ended_ms <= ${now} ` +
          "- CAST($1 AS BIGINT) ORDER BY ended_ms, job_id LIMIT $2) RETURNING job_id",
        [ageMsMin, max],
      );
      return yield* removeResults([...idsOf(rows)]);
    });
  }

  trim({ keptMax, max }: { readonly keptMax: number; readonly max: number }): Promise<string[]> {
    const removeResults = this.#removeResults();
    return this.#database.transaction("remove jobs past a tenant's room", function* () {
      const full = yield sql(
        "SELECT table_namespace FROM svc_jobs GROUP BY table_namespace HAVING count(*) > $1 " +
          "ORDER BY table_namespace",
        [keptMax],
      );
      const ids: string[] = [];
      for (const row of full) {
        const removed = yield sql(
          "DELETE FROM svc_jobs WHERE job_id IN (SELECT job_id FROM svc_jobs WHERE ended_ms IS NOT NULL " +
            "AND table_namespace = $1 AND job_id <= (SELECT job_id FROM svc_jobs WHERE table_namespace = $1 " +
            "ORDER BY job_id DESC LIMIT 1 OFFSET $2) ORDER BY job_id LIMIT $3) RETURNING job_id",
          [textOfRow(row, "table_namespace"), keptMax, max - ids.length],
        );
        ids.push(...idsOf(removed));
      }
      return yield* removeResults(ids);
    });
  }

  known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return Promise.resolve(new Set());
    const { texts } = this.#dialect;
    return this.#database.transaction("look for jobs", function* () {
      return idsOf(
        yield sql(
          `SELECT job_id FROM svc_jobs WHERE job_id IN (SELECT value FROM ${texts(1)})`,
          [JSON.stringify(ids)],
        ),
      );
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]();
  }

  *#finish(id: string, owner: string, end: JobEnd): Transaction<boolean> {
    const error = end.verdict === "succeeded" ? null : kept(end.error);
    const { cost, progress } = end;
    const ended = yield sql(
      `UPDATE svc_jobs SET status = $3, error = $4, ended_ms = ${this.#dialect.nowMs()}, ` +
        "cost = COALESCE($5, cost), progress_rows = COALESCE($6, progress_rows), " +
        "progress_percent = COALESCE($7, progress_percent) " +
        `WHERE job_id = $1 AND owner = $2 AND ${isFrom("finish")} RETURNING job_id`,
      [
        id,
        owner,
        end.verdict,
        error,
        cost ?? null,
        progress?.rows ?? null,
        progress?.percent ?? null,
      ],
    );
    if (ended.length === 0) return yield* this.#alreadyEnded(id, owner, end);
    if (end.verdict === "succeeded") {
      const { head, tail, rows, parts } = end.result;
      yield sql(
        "INSERT INTO svc_job_results (job_id, head, tail, rows_text, parts) VALUES ($1, $2, $3, $4, $5)",
        [id, head, tail, rows ?? null, parts],
      );
    }
    yield* this.#tellEnd(id)();
    return true;
  }

  /** Whether the end that stands is `end` itself. */
  *#alreadyEnded(id: string, owner: string, end: JobEnd): Transaction<boolean> {
    const [row] = yield sql("SELECT status, owner, error FROM svc_jobs WHERE job_id = $1", [id]);
    if (row === undefined || row["owner"] !== owner) return false;
    const error = textOrNothing(row, "error");
    if (row["status"] !== "failed" || error?.startsWith(EXECUTOR_GONE) !== true) {
      return row["status"] === end.verdict;
    }
    if (end.verdict === "succeeded" && !error.endsWith(COMPUTED_TOO_LATE)) {
      yield sql("UPDATE svc_jobs SET error = $2 WHERE job_id = $1 AND error = $3", [
        id,
        `${error}; ${COMPUTED_TOO_LATE}`,
        error,
      ]);
    }
    return end.verdict === "failed" && error === kept(end.error);
  }

  *#cancel(
    namespace: string,
    id: string,
  ): Transaction<{ readonly done: boolean; readonly status: JobStatus } | undefined> {
    const cancelled = yield sql(
      `UPDATE svc_jobs SET status = 'cancelled', ended_ms = ${this.#dialect.nowMs()}, error = $3 ` +
        `WHERE job_id = $1 AND table_namespace = $2 AND ${isFrom("cancel")} RETURNING job_id`,
      [id, namespace, "cancelled by request"],
    );
    if (cancelled.length > 0) {
      yield* this.#tellEnd(id)();
      return { done: true, status: "cancelled" };
    }
    const [row] = yield sql(
      "SELECT status FROM svc_jobs WHERE job_id = $1 AND table_namespace = $2",
      [id, namespace],
    );
    return row === undefined ? undefined : { done: false, status: statusOf(row) };
  }

  /** `$1` is how long a job may be without an owner. */
  #isAbandoned(): string {
    const now = this.#dialect.nowMs();
    return `${IS_OPEN} AND ((owner IS NOT NULL AND lease_ends_ms <= ${now}) OR ` +
      `(owner IS NULL AND submitted_ms <= ${now} - CAST($1 AS BIGINT)))`;
  }

  /** Removes the results of jobs that were removed. Returns their ids in order. */
  #removeResults(): (ids: readonly string[]) => Transaction<string[]> {
    const { texts } = this.#dialect;
    return function* (ids): Transaction<string[]> {
      const ordered = [...ids].sort();
      if (ordered.length === 0) return [];
      yield sql(
        `DELETE FROM svc_job_results WHERE job_id IN (SELECT value FROM ${texts(1)})`,
        [JSON.stringify(ordered)],
      );
      return ordered;
    };
  }

  #tellEnd(id: string): () => Transaction<void> {
    const { tellEnd } = this.#dialect;
    return function* (): Generator<SqlStatement, void, readonly SqlRow[]> {
      if (tellEnd !== undefined) yield sql(tellEnd, [id]);
    };
  }
}

const IS_OPEN = isAmong(OPEN_STATUSES);

function isFrom(transition: JobTransitionName): string {
  return isAmong(JOB_TRANSITIONS[transition].from);
}

function isAmong(statuses: readonly JobStatus[]): string {
  return `status IN (${statuses.map((status) => `'${status}'`).join(", ")})`;
}

/** An error as it is stored: bounded, and without what PostgreSQL's texts cannot hold. */
function kept(error: string): string {
  return error.slice(0, ERROR_LENGTH_MAX).replaceAll("\0", "\\0");
}

function idsOf(rows: readonly SqlRow[]): Set<string> {
  return new Set(rows.map((row) => textOfRow(row, "job_id")));
}

function jobOf(row: SqlRow): JobRow {
  return {
    id: textOfRow(row, "job_id"),
    status: statusOf(row),
    query: textOfRow(row, "query"),
    submittedMs: integerOfRow(row, "submitted_ms"),
    startedMs: integerOrNothing(row, "started_ms"),
    endedMs: integerOrNothing(row, "ended_ms"),
    cost: textOrNothing(row, "cost"),
    progress: progressOf(row),
    error: textOrNothing(row, "error"),
  };
}

function progressOf(row: SqlRow): JobProgress | undefined {
  const rows = integerOrNothing(row, "progress_rows");
  if (rows === undefined) return undefined;
  const percent = row["progress_percent"];
  return { rows, percent: percent === null ? undefined : Number(percent) };
}

/** Errors: `corrupt`. */
function statusOf(row: SqlRow): JobStatus {
  const text = textOfRow(row, "status");
  if (isJobStatus(text)) return text;
  throw new OperatingError("corrupt", `Cannot read status in the job store: it is ${text}`);
}

function textOrNothing(row: SqlRow, column: string): string | undefined {
  return row[column] === null ? undefined : textOfRow(row, column);
}

function integerOrNothing(row: SqlRow, column: string): number | undefined {
  return row[column] === null ? undefined : integerOfRow(row, column);
}
