/** `/api/v1/jobs`: docs/api/query.md#batch-jobs. */

import { OperatingError } from "../../shared/base/errors.ts";
import type { JobRow, StoredResult } from "../../shared/catalog/job_store.ts";
import type { ByteBudget } from "../../shared/base/byte_budget.ts";
import { jsonResponse } from "../../shared/http/error_response.ts";
import type { Addressed } from "../indexes/index_routes.ts";
import type { QueryCaller } from "../query_caller.ts";
import { type JobDesk, unknownJob } from "./batch_jobs.ts";
import { LIST_DEFAULT, LIST_MAX, LISTED_QUERY_LENGTH_MAX, WAIT_SECS_MAX } from "./limits.ts";
import { resultBody } from "./result_body.ts";

/** What these routes need of the server. */
export interface JobService {
  readonly jobs: JobDesk;
  readonly answers: ByteBudget;
}

const JOBS_PATH = "/api/v1/jobs";
const JOB_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The answer to `POST /api/v1/sql` with `priority` `batch`. */
export function jobAccepted(id: string): Response {
  const url = `${JOBS_PATH}/${id}`;
  return jsonResponse(
    { job_id: id, status: "pending", status_url: url, result_url: `${url}/result` },
    { status: 202, headers: { location: url } },
  );
}

/** The tenant's jobs, newest first: `?limit=` of them, older than `?before=`. */
export async function listJobs(
  request: Request,
  { jobs }: JobService,
  caller: QueryCaller,
): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const max = countOf(searchParams, "limit", { min: 1, max: LIST_MAX }) ?? LIST_DEFAULT;
  const before = searchParams.get("before");
  if (before !== null && !JOB_ID.test(before)) {
    throw badParameter("before", before, "the id of a job");
  }
  // One job more than is listed shows whether there are others.
  const queryLengthMax = LISTED_QUERY_LENGTH_MAX + 1;
  const page = { max, queryLengthMax, ...(before === null ? {} : { before }) };
  const rows = await jobs.list(caller.namespace, page);
  return jsonResponse(rows.map((row) => jobBody(row, LISTED_QUERY_LENGTH_MAX)));
}

/** One job; with `?wait_secs=` once it has ended, or after that long. */
export async function getJob(
  request: Request,
  { jobs }: JobService,
  { caller, id }: Addressed,
): Promise<Response> {
  checkId(id);
  const { searchParams } = new URL(request.url);
  const seconds = countOf(searchParams, "wait_secs", { min: 0, max: WAIT_SECS_MAX }) ?? 0;
  const wait = { ms: 1000 * seconds, signal: request.signal };
  return jsonResponse(jobBody(await jobs.ended(caller.namespace, id, wait)));
}

/** The records response of a job. Errors: those of `JobDesk.result` and of the first file. */
export async function getJobResult(
  { method }: Request,
  { jobs, answers }: JobService,
  { caller, id }: Addressed,
): Promise<Response> {
  checkId(id);
  const result: StoredResult = await jobs.result(caller.namespace, id);
  const headers = { "content-type": "application/json" };
  // A body that nobody takes would keep its room from other answers.
  if (method === "HEAD") return new Response(null, { headers });
  const body = await resultBody(result, {
    part: (part) => jobs.resultPart(id, part),
    hold: answers.hold(caller.tenant),
  });
  return new Response(body, { headers });
}

/** `DELETE /api/v1/jobs/{id}`: 202. Errors: those of `JobDesk.cancel`. */
export async function cancelJob(
  _: Request,
  { jobs }: JobService,
  { caller, id }: Addressed,
): Promise<Response> {
  checkId(id);
  await jobs.cancel(caller.namespace, id);
  return jsonResponse({ job_id: id, status: "cancelled" }, { status: 202 });
}

/** Such a text is no id of ours: there is no such job, and no need to ask. */
function checkId(id: string): void {
  if (!JOB_ID.test(id)) throw unknownJob(id);
}

function jobBody(job: JobRow, queryLengthMax = Infinity): Readonly<Record<string, unknown>> {
  const { progress } = job;
  return {
    job_id: job.id,
    status: job.status,
    priority: "batch",
    query: shortened(job.query, queryLengthMax),
    submitted_at: timeText(job.submittedMs),
    ...(job.startedMs === undefined ? {} : { started_at: timeText(job.startedMs) }),
    ...(job.endedMs === undefined ? {} : { ended_at: timeText(job.endedMs) }),
    ...(job.cost === undefined ? {} : { cost: JSON.parse(job.cost) }),
    ...(progress === undefined ? {} : {
      progress: {
        rows: progress.rows,
        ...(progress.percent === undefined ? {} : { percent: roundPercent(progress.percent) }),
      },
    }),
    ...(job.error === undefined ? {} : { error: job.error }),
  };
}

function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax)}…`;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

function roundPercent(percent: number): number {
  return Math.round(percent * 10) / 10;
}

/** A whole number among the parameters. Errors: `invalid_argument`. */
function countOf(
  parameters: URLSearchParams,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw badParameter(name, text, `a whole number from ${min} to ${max}`);
}

function badParameter(name: string, value: string, wanted: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot use ${name}=${JSON.stringify(value.slice(0, 100))}: give ${wanted}`,
    { reason: "bad_parameter" },
  );
}
