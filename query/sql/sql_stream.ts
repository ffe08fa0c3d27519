/**
 * An NDJSON answer, docs/api/query.md#ndjson-answer: rows as they come, then at most one trailer.
 * Nothing is read ahead of the client, and a client that leaves stops the query.
 */

import { getLogger } from "@logtape/logtape";
import { MIDFLIGHT_ROWS_SCANNED } from "../../shared/engine/duckdb/rows_breaker.ts";
import type { ResultChunk } from "../../shared/engine/types.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import { ndjsonResponse } from "../../shared/http/ndjson.ts";
import type { SqlCall } from "./sql_call.ts";

type Line = string | Uint8Array<ArrayBuffer>;

/**
 * Starts the prepared statement. What fails before the first rows is thrown and keeps its own
 * status; after that the answer owns `call`, and a failure is its last line.
 */
export async function streamResponse(
  call: SqlCall,
  { stallMsMax }: { readonly stallMsMax: number },
): Promise<Response> {
  const running = await call.run();
  const chunks = running.chunks("objects")[Symbol.asyncIterator]();
  const first = await chunks.next();
  call.throwIfStopped();
  return ndjsonResponse({
    [Symbol.asyncIterator]: () =>
      new StreamedLines(call, { lines: renderLines(call, first, chunks), stallMsMax }),
  });
}

/**
 * The lines of an answer, made while the client takes them. A client that takes none for long is
 * given up, because it would keep the engine from others.
 */
class StreamedLines implements AsyncIterator<Line> {
  #stalling: ReturnType<typeof setTimeout> | undefined;
  /** What is left to say to a reader that was given up. */
  #last: Line | undefined;

  constructor(
    private readonly call: SqlCall,
    private readonly options: {
      readonly lines: AsyncGenerator<Line, undefined>;
      readonly stallMsMax: number;
    },
  ) {}

  async next(): Promise<IteratorResult<Line>> {
    clearTimeout(this.#stalling);
    if (this.#last !== undefined) {
      const value = this.#last;
      this.#last = undefined;
      return { done: false, value };
    }
    const { lines, stallMsMax } = this.options;
    const next = await lines.next();
    if (next.done !== true) this.#stalling = setTimeout(() => this.#giveUp(), stallMsMax);
    return next;
  }

  async return(): Promise<IteratorResult<Line>> {
    clearTimeout(this.#stalling);
    // The generator may be waiting for the engine. The engine is stopped first, or `return` would
    // wait for it.
    this.call.cancel();
    await this.#end();
    return { done: true, value: undefined };
  }

  #giveUp(): void {
    this.#last = failureTrailer(this.call.stall(this.options.stallMsMax));
    this.#end().catch((error) =>
      getLogger(["svc", "query"]).error("stalled query kept: {error}", { error })
    );
  }

  async #end(): Promise<void> {
    await this.options.lines.return(undefined);
    await this.call[Symbol.asyncDispose]();
  }
}

async function* renderLines(
  call: SqlCall,
  first: IteratorResult<ResultChunk>,
  chunks: AsyncIterator<ResultChunk>,
): AsyncGenerator<Line, undefined> {
  const rowsMax = call.limits.rowsReturnedMax;
  let sent = 0;
  try {
    for (let next = first; !next.done; next = await chunks.next()) {
      call.throwIfStopped();
      const rows = Math.min(next.value.rowCount, rowsMax - sent);
      sent += rows;
      if (rows > 0) yield* pieces(next.value.bytes(rows));
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
    await chunks.return?.();
  }
}

/** Bytes that are handed out at once. A client that takes less than this stalls. */
const PIECE_BYTES = 262_144;

function* pieces(bytes: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

function failureTrailer(failure: unknown): string {
  const error = asOperatingError(failure);
  if (error.reason === MIDFLIGHT_ROWS_SCANNED) {
    const { rows_scanned, max_rows_scanned } = error.details ?? {};
    return trailer({ _meta: MIDFLIGHT_ROWS_SCANNED, rows_scanned, max_rows_scanned });
  }
  // The code is the status that a records answer has for the error.
  const { httpStatus, message, retryAfterSecs } = error;
  return trailer({
    _meta: "error",
    code: httpStatus,
    error: message,
    ...(retryAfterSecs === undefined ? {} : { retry_after_secs: retryAfterSecs }),
  });
}

function trailer(fields: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(fields)}\n`;
}
