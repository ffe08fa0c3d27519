/**
 * A records answer, SPEC.md 2.5. Its status depends on its last row (413 when the cap was hit), so rows are
 * held, as bytes and up to `RECORDS_BYTES_MAX`, until the query has ended.
 */

import { formatBytes, utf8 } from "../shared/base/bytes.ts";
import { OperatingError } from "../shared/base/errors.ts";
import type { ResultChunk } from "../shared/engine/types.ts";
import { RECORDS_BYTES_MAX } from "./limits.ts";
import type { SqlCall } from "./sql_call.ts";

/** Runs the prepared statement to its end and renders it. */
export async function recordsResponse(call: SqlCall): Promise<Response> {
  const running = await call.run();
  const rowsMax = call.limits.rowsReturnedMax;
  const rows = await collectRows(call, running.chunks("arrays"), rowsMax);
  const stats = await running.stats();
  const columns = running.columns.map((column) => column.name);
  const cut = rows.truncated ? `,"truncated":true,"max_rows":${rowsMax}` : "";
  const parts = [
    utf8(`{"columns":${JSON.stringify(columns)},"row_count":${rows.count},"rows":[`),
    ...rows.parts,
    utf8(`]${cut},"cost":${JSON.stringify(call.prepared.cost)},"stats":${JSON.stringify(stats)}}`),
  ];
  call.end(rows.truncated ? "truncated" : "ok", rows.count);
  return new Response(ReadableStream.from(parts), {
    status: rows.truncated ? 413 : 200,
    headers: { "content-type": "application/json" },
  });
}

interface CollectedRows {
  /** Together the rows' JSON texts with commas between them. */
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  readonly count: number;
  /** Whether there was a row after the last one allowed. */
  readonly truncated: boolean;
}

async function collectRows(
  call: SqlCall,
  chunks: AsyncIterable<ResultChunk>,
  rowsMax: number,
): Promise<CollectedRows> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let count = 0;
  let bytes = 0;
  let truncated = false;
  for await (const chunk of chunks) {
    call.throwIfStopped();
    const rows = chunk.rows.slice(0, rowsMax - count);
    truncated ||= chunk.rows.length > rows.length;
    if (rows.length === 0) continue;
    const part = utf8(`${count === 0 ? "" : ","}${rows.join(",")}`);
    count += rows.length;
    bytes += part.byteLength;
    if (bytes > RECORDS_BYTES_MAX) throw tooLarge(count);
    parts.push(part);
  }
  call.throwIfStopped();
  return { parts, count, truncated };
}

function tooLarge(rowsSoFar: number): OperatingError {
  return new OperatingError(
    "too_large",
    `Cannot hold the answer: its first ${rowsSoFar} rows exceed ${
      formatBytes(RECORDS_BYTES_MAX)
    }; ` +
      'ask for format "ndjson", which streams, or for fewer rows or columns',
    { reason: "answer_bytes" },
  );
}
