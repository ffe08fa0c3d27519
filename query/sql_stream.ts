/**
 * An NDJSON answer, SPEC.md 2.6: rows as they come, then at most one trailer. Nothing is read ahead of the
 * client, and a client that leaves stops the query.
 */

import { isOperatingError } from "../shared/base/errors.ts";
import { MIDFLIGHT_ROWS_SCANNED } from "../shared/engine/rows_breaker.ts";
import type { ResultChunk } from "../shared/engine/types.ts";
import { asOperatingError } from "../shared/http/error_response.ts";
import { ndjsonResponse } from "../shared/http/ndjson.ts";
import { POOL_EXHAUSTED, type SqlCall } from "./sql_call.ts";

/**
 * Starts the prepared statement. What fails before the first rows is thrown and keeps its own status; after
 * that the answer owns `call`, and a failure is its last line.
 */
export async function streamResponse(call: SqlCall): Promise<Response> {
  const running = await call.run();
  const chunks = running.chunks("objects")[Symbol.asyncIterator]();
  const first = await chunks.next();
  call.throwIfStopped();
  const lines = renderLines(call, first, chunks);
  return ndjsonResponse({
    [Symbol.asyncIterator]: () => ({
      next: () => lines.next(),
      async return() {
        // The generator may be waiting for the engine: stop that first, or it would be waited for.
        call.cancel();
        await lines.return(undefined);
        await call[Symbol.asyncDispose]();
        return { done: true, value: undefined };
      },
    }),
  });
}

async function* renderLines(
  call: SqlCall,
  first: IteratorResult<ResultChunk>,
  chunks: AsyncIterator<ResultChunk>,
): AsyncGenerator<string | Uint8Array<ArrayBuffer>, undefined> {
  const rowsMax = call.limits.rowsReturnedMax;
  let sent = 0;
  try {
    for (let next = first; !next.done; next = await chunks.next()) {
      call.throwIfStopped();
      const rows = Math.min(next.value.rowCount, rowsMax - sent);
      sent += rows;
      if (rows > 0) yield next.value.bytes(rows);
      if (next.value.rowCount > rows) {
        call.end("truncated", { rowsReturned: sent });
        yield trailer({ _meta: "truncated", row_count: sent, max_rows: rowsMax });
        return;
      }
    }
    call.throwIfStopped();
    call.end("ok", { rowsReturned: sent });
  } catch (thrown) {
    const failure = call.failureOf(thrown);
    call.endWith(failure);
    yield failureTrailer(failure);
  } finally {
    await call[Symbol.asyncDispose]();
  }
}

function failureTrailer(failure: unknown): string {
  const error = asOperatingError(failure);
  if (error.reason === MIDFLIGHT_ROWS_SCANNED) {
    const { rows_scanned, max_rows_scanned } = error.details ?? {};
    return trailer({ _meta: MIDFLIGHT_ROWS_SCANNED, rows_scanned, max_rows_scanned });
  }
  const refused = isOperatingError(error, "unavailable") && error.reason === POOL_EXHAUSTED;
  return trailer({
    _meta: "error",
    code: refused ? 503 : 500,
    error: error.message,
    ...(refused ? { retry_after_secs: error.retryAfterSecs } : {}),
  });
}

function trailer(fields: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(fields)}\n`;
}
