/** `POST /api/v1/sql` and its variants: from the request's body to its answer. */

import { jsonResponse } from "../../shared/http/error_response.ts";
import { jobAccepted } from "../jobs/job_routes.ts";
import { readJsonText } from "../json_body.ts";
import {
  BATCH_TIER,
  effectiveLimits,
  fileTier,
  interactiveTier,
  SQL_BODY_BYTES_MAX,
} from "../limits.ts";
import type { QueryCaller } from "../query_caller.ts";
import { type CallMade, SqlCall } from "./sql_call.ts";
import { recordsResponse } from "./sql_records.ts";
import { isFile, parseSqlRequest, type SqlRequest, streamFormatOf } from "./sql_request.ts";
import type { SqlService } from "./sql_service.ts";
import { streamResponse } from "./sql_stream.ts";

/**
 * Answers with rows, with the cost alone for `dry_run`, or with the id of a batch job. Throws what
 * `errorResponse` renders.
 */
export function answerSql(
  request: Request,
  service: SqlService,
  made: CallMade,
): Promise<Response> {
  return withCall(request, service, made, async (call, asked) => {
    if (asked.dry_run) return jsonResponse(costReport(call));
    const format = streamFormatOf(asked);
    if (format === undefined) return await recordsResponse(call, service.answers, asked);
    const { stallMsMax } = service;
    return await streamResponse(call, {
      format,
      stallMsMax,
      download: asked.download ?? undefined,
    });
  });
}

/** Answers with the cost and the physical plan; runs nothing. */
export function explainSql(
  request: Request,
  service: SqlService,
  caller: QueryCaller,
): Promise<Response> {
  return withCall(request, service, { caller, endpoint: "sql_explain" }, async (call) => {
    const plan = await call.prepared.explain();
    call.throwIfStopped();
    return jsonResponse({ ...costReport(call), plan });
  });
}

function costReport(call: SqlCall) {
  const { cost, tables, servedBy } = call.prepared;
  return { cost, tables, served_by: servedBy };
}

/**
 * Prepares the statement that `request` asks for. Once its answer streams, `answer` owns the call.
 */
async function withCall(
  request: Request,
  service: SqlService,
  made: CallMade,
  answer: (call: SqlCall, asked: SqlRequest) => Promise<Response>,
): Promise<Response> {
  const call = new SqlCall(service, made);
  using _stopping = call.stopWith(request);
  let streams = false;
  try {
    const body = await readJsonText(request, { bytesMax: SQL_BODY_BYTES_MAX });
    const asked = parseSqlRequest(body, request.headers.get("accept"));
    const isBatch = asked.priority === "batch";
    const tierOf = isFile(asked) ? fileTier : interactiveTier;
    const tier = isBatch ? BATCH_TIER : tierOf(service.rowsCeiling);
    const limits = effectiveLimits(asked.limits ?? {}, tier);
    if (isBatch && !asked.dry_run && made.endpoint !== "sql_explain") {
      const { signal } = request;
      await call.check(asked, limits);
      const accepted = jobAccepted(await service.jobs.submit({ asked, limits, made, signal }));
      call.end("ok");
      return accepted;
    }
    await call.prepare(asked, limits);
    const response = await answer(call, asked);
    streams = streamFormatOf(asked) !== undefined && !asked.dry_run &&
      made.endpoint !== "sql_explain";
    if (!streams) call.end("ok");
    return response;
  } catch (thrown) {
    const failure = call.failureOf(thrown);
    call.endWith(failure);
    throw failure;
  } finally {
    if (!streams) await call[Symbol.asyncDispose]();
  }
}
