/** The rows of a step that a search finds, as a statement reads them. */

import { isOperatingError } from "../../shared/base/errors.ts";
import type { FollowStep, PreparedQuery, ResultChunk } from "../../shared/engine/types.ts";
import { ADMISSION_FULL } from "../admission/admission.ts";
import { type EffectiveLimits, effectiveLimits, interactiveTier } from "../limits.ts";
import type { QueryCaller } from "../query_caller.ts";
import type { SqlService } from "../sql/sql_service.ts";

/** What a tail reads of each step. */
export interface TailStatements {
  readonly service: SqlService;
  readonly caller: QueryCaller;
  /** A SELECT of the rows, and one of their number. */
  readonly rowsSql: string;
  readonly countSql: string;
  readonly signal: AbortSignal;
}

/** Rows of a step. */
export interface StepRows {
  readonly columns: readonly string[];
  /** JSON texts, each with a comma behind it. */
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  readonly sent: number;
  /** Rows that the search finds besides. */
  readonly skipped: number;
}

/** An event is no longer than this, unless a single row is. */
const EVENT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Reads a step. Undefined: its files are not there any more. Errors: those of a statement of
 * `/sql`.
 */
export async function stepRows(
  statements: TailStatements,
  step: FollowStep,
  rowsMax: number,
): Promise<StepRows | undefined> {
  const columns: string[] = [];
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let [sent, bytes, isCut] = [0, 0, rowsMax === 0];
  if (rowsMax > 0) {
    await using prepared = await prepare(statements, step, { sql: statements.rowsSql, rowsMax });
    if (!isStep(prepared, step)) return undefined;
    using _memory = await reserve(statements, prepared);
    await prepared.turn();
    await using running = await prepared.run();
    columns.push(...running.columns.map(({ name }) => name));
    for await (const chunk of running.chunks("arrays")) {
      const wanted = Math.min(chunk.rowCount, rowsMax - sent);
      const part = partOf(chunk, wanted, EVENT_BYTES_MAX - bytes);
      if (part.rows > 0) parts.push(part.bytes);
      sent += part.rows;
      bytes += part.bytes.byteLength;
      isCut ||= part.rows < chunk.rowCount;
      if (isCut) break;
    }
  }
  const skipped = isCut ? await countRows(statements, step) - sent : 0;
  return { columns, parts, sent, skipped };
}

/** Takes the first rows that have room; one in any case where nothing was taken yet. */
function partOf(
  chunk: ResultChunk,
  wanted: number,
  bytesMax: number,
): { readonly rows: number; readonly bytes: Uint8Array<ArrayBuffer> } {
  for (let rows = wanted; rows > 0; rows = Math.floor(rows / 2)) {
    const bytes = chunk.bytes(rows);
    const isOnly = rows === 1 && bytesMax === EVENT_BYTES_MAX;
    if (bytes.byteLength <= bytesMax || isOnly) return { rows, bytes };
  }
  return { rows: 0, bytes: new Uint8Array() };
}

async function countRows(statements: TailStatements, step: FollowStep): Promise<number> {
  await using prepared = await prepare(statements, step, { sql: statements.countSql, rowsMax: 1 });
  using _memory = await reserve(statements, prepared);
  await prepared.turn();
  await using running = await prepared.run();
  let count = 0;
  for await (const chunk of running.chunks("arrays")) {
    if (chunk.rowCount === 0) continue;
    count = Number(JSON.parse(new TextDecoder().decode(chunk.bytes(1).subarray(0, -1)))[0]);
  }
  return count;
}

function prepare(
  { service, caller, signal }: TailStatements,
  step: FollowStep,
  { sql, rowsMax }: { readonly sql: string; readonly rowsMax: number },
): Promise<PreparedQuery> {
  const { rowsScannedMax, timeoutMs } = limitsOf(service);
  return service.engine.prepare({
    ...{ sql, step, rowsMax, rowsScannedMax, signal },
    ...{ namespace: caller.namespace, tenant: caller.tenant },
    defaultOrder: false,
    fastPaths: false,
    deadlineMs: timeoutMs,
    waitMs: service.admission.turnWaits,
  });
}

function limitsOf({ rowsCeiling }: SqlService): EffectiveLimits {
  return effectiveLimits({}, interactiveTier(rowsCeiling));
}

async function reserve(
  { service, caller, signal }: TailStatements,
  { cost }: PreparedQuery,
): Promise<Disposable> {
  const { admission } = service;
  return await admission.reserve({
    tenant: caller.tenant,
    bytes: admission.bytesFor(cost.estimated_bytes_scanned),
    signal,
    deadlineMs: limitsOf(service).timeoutMs,
  });
}

/** Where history is gone, a statement would read the whole table. */
function isStep({ tables: [table] }: PreparedQuery, step: FollowStep): boolean {
  return step.kind === "wal" || step.since === undefined || table?.since === step.since;
}

/** Whether the same step may be read when it is asked again. */
export function isPassing(error: unknown): boolean {
  return (isOperatingError(error, "rate_limited") && error.reason === ADMISSION_FULL) ||
    isOperatingError(error, "unavailable") || isOperatingError(error, "deadline_exceeded");
}
