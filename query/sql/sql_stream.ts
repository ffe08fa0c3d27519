/**
 * A streamed answer, docs/api/query.md#ndjson-answer: rows as they come, then at most one trailer.
 * Nothing is read ahead of the client, and a client that leaves stops the query. A CSV file has no
 * place for a trailer: whatever it would tell cuts the connection, so that nobody takes the file
 * for whole.
 */

import { getLogger } from "@logtape/logtape";
import { MIDFLIGHT_ROWS_SCANNED } from "../../shared/engine/duckdb/rows_breaker.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { csvHeader } from "../../shared/engine/answer/render.ts";
import type { ResultChunk, ResultColumn, RowShape } from "../../shared/engine/types.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import { ndjsonResponse } from "../../shared/http/ndjson.ts";
import type { SqlCall } from "./sql_call.ts";
import type { StreamFormat } from "./sql_request.ts";

type Line = string | Uint8Array<ArrayBuffer>;

/** What is said behind the last row. */
interface Trailer {
  readonly _meta: string;
  readonly [field: string]: unknown;
}

function isTrailer(line: Line | Trailer): line is Trailer {
  return typeof line === "object" && "_meta" in line;
}

interface StreamKind {
  readonly shape: RowShape;
  readonly headers: Readonly<Record<string, string>>;
  readonly head: (columns: readonly ResultColumn[]) => string | undefined;
  readonly hasTrailer: boolean;
}

const KINDS: Readonly<Record<StreamFormat, StreamKind>> = {
  ndjson: { shape: "objects", headers: {}, head: () => undefined, hasTrailer: true },
  csv: {
    shape: "csv",
    headers: {
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": 'attachment; filename="rows.csv"',
    },
    head: (columns) => csvHeader(columns.map(({ name }) => name)),
    hasTrailer: false,
  },
};

interface StreamOptions {
  readonly format: StreamFormat;
  readonly stallMsMax: number;
}

/**
 * Starts the prepared statement. What fails before the first rows is thrown and keeps its own
 * status; after that the answer owns `call`, and a failure is its last line.
 */
export async function streamResponse(
  call: SqlCall,
  { format, stallMsMax }: StreamOptions,
): Promise<Response> {
  const kind = KINDS[format];
  const running = await call.run();
  const chunks = running.chunks(kind.shape)[Symbol.asyncIterator]();
  const first = await chunks.next();
  call.throwIfStopped();
  const head = kind.head(running.columns);
  const lines = renderLines(call, { head, first, chunks });
  return ndjsonResponse({
    [Symbol.asyncIterator]: () => new StreamedLines(call, { lines, kind, stallMsMax }),
  }, { headers: kind.headers });
}

/**
 * The lines of an answer, made while the client takes them. A client that takes none for long is
 * given up, because it would keep the engine from others.
 */
class StreamedLines implements AsyncIterator<Line> {
  #stalling: ReturnType<typeof setTimeout> | undefined;
  /** What is left to say to a reader that was given up. */
  #last: Trailer | undefined;

  constructor(
    private readonly call: SqlCall,
    private readonly options: {
      readonly lines: AsyncGenerator<Line | Trailer, undefined>;
      readonly kind: StreamKind;
      readonly stallMsMax: number;
    },
  ) {}

  async next(): Promise<IteratorResult<Line>> {
    clearTimeout(this.#stalling);
    if (this.#last !== undefined) {
      const last = this.#last;
      this.#last = undefined;
      return { done: false, value: this.#told(last) };
    }
    const { lines, stallMsMax } = this.options;
    const next = await lines.next();
    if (next.done === true) return next;
    if (isTrailer(next.value)) {
      // Nobody asks on behind an error.
      await this.#end();
      return { done: false, value: this.#told(next.value) };
    }
    this.#stalling = setTimeout(() => this.#giveUp(), stallMsMax);
    return { done: false, value: next.value };
  }

  /** Errors: what the trailer tells, where the answer has no place for it. */
  #told(trailer: Trailer): string {
    if (this.options.kind.hasTrailer) return `${JSON.stringify(trailer)}\n`;
    throw new OperatingError("cancelled", `The file is not whole: ${JSON.stringify(trailer)}`);
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
  { head, first, chunks }: {
    readonly head: string | undefined;
    readonly first: IteratorResult<ResultChunk>;
    readonly chunks: AsyncIterator<ResultChunk>;
  },
): AsyncGenerator<Line | Trailer, undefined> {
  const rowsMax = call.limits.rowsReturnedMax;
  let sent = 0;
  try {
    if (head !== undefined) yield head;
    for (let next = first; !next.done; next = await chunks.next()) {
      call.throwIfStopped();
      const rows = Math.min(next.value.rowCount, rowsMax - sent);
      sent += rows;
      if (rows > 0) yield* pieces(next.value.bytes(rows));
      if (next.value.rowCount > rows) {
        call.end("truncated", { rowsReturned: sent });
        yield { _meta: "truncated", row_count: sent, max_rows: rowsMax };
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

function failureTrailer(failure: unknown): Trailer {
  const error = asOperatingError(failure);
  if (error.reason === MIDFLIGHT_ROWS_SCANNED) {
    const { rows_scanned, max_rows_scanned } = error.details ?? {};
    return { _meta: MIDFLIGHT_ROWS_SCANNED, rows_scanned, max_rows_scanned };
  }
  // The code is the status that a records answer has for the error.
  const { httpStatus, message, retryAfterSecs } = error;
  return {
    _meta: "error",
    code: httpStatus,
    error: message,
    ...(retryAfterSecs === undefined ? {} : { retry_after_secs: retryAfterSecs }),
  };
}
