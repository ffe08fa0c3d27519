/** What the page SQL asks the query server: docs/api/query.md. */

import { parseExact } from "../api/exact_json.ts";
import {
  refusal,
  request,
  RequestError,
  requestJson,
  type RequestOptions,
  requestText,
} from "../api/request.ts";
import type { Value } from "../api/sql_client.ts";

/** What a statement will read: docs/api/query.md#cost. */
export interface Cost {
  readonly files_considered: number;
  readonly files_to_scan: number;
  readonly estimated_bytes_scanned: number;
  readonly estimated_rows_processed: number;
  readonly estimated_runtime_seconds: number;
  readonly complexity_class: string;
  readonly warnings: readonly string[];
}

/** Rows and what they cost; long numbers are texts, so that they keep their digits. */
export interface SqlAnswer {
  readonly columns: readonly string[];
  /** Undefined for the result of a job. */
  readonly types?: readonly string[];
  readonly rows: readonly (readonly Value[])[];
  /** Whether the server has more rows than it sent. */
  readonly truncated?: boolean;
  readonly cost: Cost;
  readonly stats: {
    readonly served_by: string;
    readonly bytes_scanned: number;
    readonly rows_scanned: number;
  };
  /** Milliseconds that the server took; undefined where a proxy dropped the header. */
  readonly serverMs?: number;
}

export interface JobRecord {
  readonly job_id: string;
  readonly status: "pending" | "running" | "succeeded" | "failed" | "cancelled" | "timeout";
  readonly progress?: { readonly rows: number; readonly percent?: number };
  readonly error?: string;
}

export type DownloadFormat = "csv" | "ndjson" | "parquet" | "arrow";

type Ask = { readonly signal: AbortSignal };

/** A statement only reads, so asking twice does no harm. */
function post(body: object, { signal }: Ask): RequestOptions {
  return {
    method: "POST",
    isRepeatable: true,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  };
}

/** Runs a statement. Errors: as `request`; `RequestError` by the server's status. */
export async function runStatement(
  query: string,
  { rowsMax, signal }: Ask & { readonly rowsMax: number },
): Promise<SqlAnswer> {
  const limits = { max_rows_returned: rowsMax };
  return readAnswer(
    await requestText("sql", post({ query, types: true, limits }, { signal })),
  );
}

/** Returns what the statement would read; runs nothing. */
export async function askCost(query: string, ask: Ask): Promise<Cost> {
  const report = await requestJson("sql", post({ query, dry_run: true }, ask));
  return (report as { readonly cost: Cost }).cost;
}

/** Returns the plan as DuckDB writes it, and the cost; runs nothing. */
export async function askPlan(
  query: string,
  ask: Ask,
): Promise<{ readonly plan: string; readonly cost: Cost }> {
  return await requestJson("sql/explain", post({ query }, ask)) as {
    readonly plan: string;
    readonly cost: Cost;
  };
}

/** Submits the statement as a batch job, and returns the job's id. */
export async function submitJob(query: string, ask: Ask): Promise<string> {
  const options = { ...post({ query, priority: "batch" }, ask), isRepeatable: false };
  const accepted = await requestJson("sql", options);
  return (accepted as { readonly job_id: string }).job_id;
}

/** Returns the job once it has ended, or as it is after `waitSecs`. */
export async function askJob(
  id: string,
  { waitSecs, signal }: Ask & { readonly waitSecs: number },
): Promise<JobRecord> {
  const path = `jobs/${encodeURIComponent(id)}?wait_secs=${waitSecs}`;
  return await requestJson(path, { signal }) as JobRecord;
}

/** Returns the rows of a job that succeeded. */
export async function askJobRows(id: string, { signal }: Ask): Promise<SqlAnswer> {
  return readAnswer(await requestText(`jobs/${encodeURIComponent(id)}/result`, { signal }));
}

function readAnswer(
  { response, text }: { readonly response: Response; readonly text: string },
): SqlAnswer {
  // 413 with rows is an answer that was cut.
  if (response.ok || response.status === 413) {
    const body = parseExact(text) as SqlAnswer;
    const micros = Number(response.headers.get("x-svc-server-micros") ?? NaN);
    if (Array.isArray(body.rows)) {
      return Number.isNaN(micros) ? body : { ...body, serverMs: micros / 1_000 };
    }
  }
  throw refusal(text, response.status);
}

/** Runs a statement whose rows come as a file. Errors: as `runStatement`. */
export async function askFile(
  query: string,
  { format, rowsMax, signal }: Ask & {
    readonly format: DownloadFormat;
    readonly rowsMax: number;
  },
): Promise<Response> {
  const limits = { max_rows_returned: rowsMax };
  const response = await request("sql", post({ query, format, limits }, { signal }));
  if (!response.ok) throw refusal(await response.text(), response.status);
  return response;
}

/**
 * Reads a file whole. Errors: `RequestError` past `bytesMax`, and where the server broke it off.
 */
export async function readBytes(
  response: Response,
  { bytesMax, onBytes }: {
    readonly bytesMax: number;
    readonly onBytes: (bytes: number) => void;
  },
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const reader = response.body?.getReader();
  let size = 0;
  try {
    // Safari's streams cannot be iterated.
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      parts.push(next.value);
      size += next.value.byteLength;
      onBytes(size);
      if (size > bytesMax) throw new RequestError(tooLarge(bytesMax), 413);
    }
  } catch (cause) {
    await reader?.cancel().catch(() => {});
    if (cause instanceof TypeError) {
      throw new RequestError("The server broke the rows off. Ask again.", 0, { cause });
    }
    throw cause;
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function tooLarge(bytesMax: number): string {
  return `The result is larger than ${bytesMax / 2 ** 20} MiB: take fewer rows or columns.`;
}
