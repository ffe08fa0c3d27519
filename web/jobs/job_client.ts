/** Batch jobs: query/jobs/README.md. */

import { refusal, request, requestJson } from "../api/request.ts";
import { csvLine, type ResultHead, resultPieces } from "./result_rows.ts";
import type { Value } from "../api/sql_client.ts";

export type JobStatus = "pending" | "running" | "succeeded" | "failed" | "cancelled" | "timeout";

export interface Job {
  readonly job_id: string;
  readonly status: JobStatus;
  readonly query: string;
  readonly submitted_at: string;
  readonly started_at?: string;
  readonly ended_at?: string;
  readonly cost?: {
    readonly files_to_scan: number;
    readonly estimated_bytes_scanned: number;
    readonly estimated_rows_processed: number;
  };
  readonly progress?: { readonly rows: number; readonly percent?: number };
  readonly error?: string;
}

/** Whether the job may still change. */
export function isOpen({ status }: Job): boolean {
  return status === "pending" || status === "running";
}

/** Jobs of a page of the list. */
export const JOBS_MAX = 50;

/** The newest jobs, or those older than `before`. Errors: `RequestError`; the signal's reason. */
export async function listJobs(
  signal: AbortSignal,
  before?: string,
): Promise<readonly Job[]> {
  const asked = new URLSearchParams({ limit: String(JOBS_MAX) });
  if (before !== undefined) asked.set("before", before);
  return await requestJson(`jobs?${asked}`, { signal }) as readonly Job[];
}

/** A job with its whole statement. Errors: as `listJobs`; status 404 where it is gone. */
export async function fetchJob(id: string, signal: AbortSignal): Promise<Job> {
  return await requestJson(`jobs/${encodeURIComponent(id)}`, { signal }) as Job;
}

/** Cancels a job. Errors: as `listJobs`; status 409 where it has ended. */
export async function cancelJob(id: string, signal: AbortSignal): Promise<void> {
  await requestJson(`jobs/${encodeURIComponent(id)}`, { method: "DELETE", signal });
}

/** The beginning of a result. */
export interface ResultTop extends ResultHead {
  readonly rows: readonly (readonly Value[])[];
}

/** The first rows of a result. Errors: as `listJobs`; status 409 where there is none. */
export async function resultTop(
  id: string,
  { signal, rowsMax }: { readonly signal: AbortSignal; readonly rowsMax: number },
): Promise<ResultTop> {
  const rows: (readonly Value[])[] = [];
  let head: ResultHead = { columns: [] };
  for await (const piece of resultPieces(await resultTexts(id, signal))) {
    head = piece.head;
    rows.push(...piece.rows.slice(0, rowsMax - rows.length));
    if (rows.length >= rowsMax) break;
  }
  return { ...head, rows };
}

/** The whole result as a file: JSON as the server sends it, or CSV. Errors: as `resultTop`. */
export async function resultFile(
  id: string,
  { signal, format }: { readonly signal: AbortSignal; readonly format: "json" | "csv" },
): Promise<Blob> {
  if (format === "json") return await (await askResult(id, signal)).blob();
  const parts: Blob[] = [];
  let isFirst = true;
  for await (const { head, rows } of resultPieces(await resultTexts(id, signal))) {
    const lines = rows.map(csvLine);
    if (isFirst) lines.unshift(csvLine(head.columns));
    isFirst = false;
    // The browser may put a blob's bytes on disk; a text would stay in memory.
    parts.push(new Blob(lines));
  }
  return new Blob(parts, { type: "text/csv" });
}

async function resultTexts(id: string, signal: AbortSignal): Promise<AsyncIterable<string>> {
  const { body } = await askResult(id, signal);
  if (body === null) throw refusal("", 502);
  return textsOf(body);
}

async function askResult(id: string, signal: AbortSignal): Promise<Response> {
  const response = await request(`jobs/${encodeURIComponent(id)}/result`, { signal });
  if (!response.ok) throw refusal(await response.text(), response.status);
  return response;
}

/** Not every browser iterates over a stream. */
async function* textsOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
