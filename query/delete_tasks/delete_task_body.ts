/** Bodies of the delete-task routes: docs/api/query.md#delete-tasks. */

import { z } from "zod";
import { OperatingError } from "../../shared/base/errors.ts";
import { givenValue, ruleOf, whichIs } from "../../shared/base/given_value.ts";
import { formatMicros, formatNanos, NS_PER_US, parseRfc3339Ns } from "../../shared/base/time.ts";
import type { DeleteTask } from "../../shared/catalog/delete_ledger.ts";
import { REMAINING_COPIES } from "./remaining_copies.ts";

/** What a client asks to have deleted. */
export interface DeleteRequest {
  readonly indexId: string;
  readonly predicate: string;
  /** Unix nanoseconds, inclusive. */
  readonly startNs: bigint | undefined;
  /** Unix nanoseconds, exclusive. */
  readonly endNs: bigint | undefined;
}

const INDEX_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;

const time = z.string().transform((text, context) => {
  const ns = parseRfc3339Ns(text);
  if (ns !== undefined) return ns;
  context.addIssue({
    code: "custom",
    message: "give an RFC 3339 time such as 2026-11-20T00:00:00Z",
  });
  return z.NEVER;
});

const BODY = z.strictObject({
  index_id: z.string().regex(INDEX_NAME, "give the id of an index"),
  predicate_sql: z.string(),
  start_ts: time.nullish(),
  end_ts: time.nullish(),
});

/** Parses a request body. Errors: `invalid_argument` naming the member. */
export function parseDeleteRequest(body: unknown): DeleteRequest {
  const parsed = BODY.safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = issue?.path ?? [];
    const where = path.length === 0
      ? "the body"
      : `${path.join(".")}${whichIs(givenValue(body, path))}`;
    throw invalid(`${where}: ${ruleOf(issue?.message)}`);
  }
  const { index_id, predicate_sql, start_ts, end_ts } = parsed.data;
  const startNs = start_ts ?? undefined;
  const endNs = end_ts ?? undefined;
  if (startNs !== undefined && endNs !== undefined && startNs >= endNs) {
    throw invalid(`start_ts ${timeText(startNs)}: it is not before end_ts ${timeText(endNs)}`);
  }
  return { indexId: index_id, predicate: predicate_sql, startNs, endNs };
}

/** The record of a task as JSON members. */
export function taskBody(task: DeleteTask): Readonly<Record<string, unknown>> {
  const { startNs, endNs, startedMs, endedMs, error, tableUuid, claim, progress } = task;
  const isOpen = endedMs === undefined;
  return {
    task_id: task.taskId,
    index_id: task.ident.name,
    predicate_sql: task.predicate,
    start_ts: startNs === undefined ? null : timeText(startNs),
    end_ts: endNs === undefined ? null : timeText(endNs),
    status: task.status,
    created_at: momentText(task.createdMs),
    ...(startedMs === undefined ? {} : { started_at: momentText(startedMs) }),
    ...(endedMs === undefined ? {} : { ended_at: momentText(endedMs) }),
    rows_deleted: task.rowsDeleted,
    files_rewritten: task.filesRewritten,
    ...(error === undefined ? {} : { error }),
    table_uuid: tableUuid ?? null,
    attempts: task.attempts,
    ...(isOpen && claim === undefined ? { claim: { present: false } } : {}),
    ...(isOpen && claim !== undefined
      ? {
        claim: {
          present: true,
          claimant: claim.claimant,
          claimed_at: momentText(claim.claimedMs),
          age_seconds: Math.floor(claim.ageMs / 1_000),
          expires_at: momentText(claim.expiresMs),
        },
        progress: {
          files_total: progress.filesTotal,
          files_done: progress.filesDone,
          rows_matched: progress.rowsMatched,
        },
      }
      : {}),
    ...(task.status === "done" && task.rowsDeleted > 0 ? { copies: REMAINING_COPIES } : {}),
  };
}

function timeText(ns: bigint): string {
  return ns % NS_PER_US === 0n ? formatMicros(ns / NS_PER_US) : formatNanos(ns);
}

function momentText(ms: number): string {
  return formatMicros(BigInt(ms) * 1_000n);
}

function invalid(what: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot use ${what}`, { reason: "invalid_body" });
}
