/**
 * A streamed answer, docs/api/query.md#ndjson-answer: rows as they come, then at most one trailer.
 * Nothing is read ahead of the client, and a client that leaves stops the query. CSV, Arrow and
 * Parquet have no place for a trailer: whatever it would tell cuts the connection, so that nobody
 * takes the file for whole.
 */

import { getLogger } from "@logtape/logtape";
import { MIDFLIGHT_ROWS_SCANNED } from "../../shared/engine/duckdb/rows_breaker.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { receivedColumn } from "../../shared/engine/bind/received_sql.ts";
import { ARROW_END } from "../../shared/engine/answer/arrow_message.ts";
import { csvHeader } from "../../shared/engine/answer/render.ts";
import type { ResultChunk, RowShape, RunningQuery } from "../../shared/engine/types.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import { pulledResponse } from "../../shared/http/pulled_response.ts";
import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import { zstdFrames } from "./zstd_frames.ts";
import { ArrowParquet } from "../../shared/parquet/arrow_parquet.ts";
import type { SqlCall } from "./sql_call.ts";
import { ARROW_CONTENT_TYPE, type StreamFormat } from "./sql_request.ts";

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
  readonly contentType: string;
  /** The ending of a file's name. */
  readonly ending: string;
  /** The name of the file where the request gives none; undefined: it is no file then. */
  readonly file?: string;
  readonly head: (running: RunningQuery) => Line | undefined;
  readonly tail?: (running: RunningQuery) => Line | Promise<Line>;
  /** How the body is encoded, whoever asks; absent: as it is. */
  readonly encoding?: "zstd";
  readonly hasTrailer: boolean;
}

const KINDS: Readonly<Record<StreamFormat | "shard", StreamKind>> = {
  ndjson: {
    shape: "objects",
    contentType: "application/x-ndjson",
    ending: "ndjson",
    head: () => undefined,
    hasTrailer: true,
  },
  csv: {
    shape: "csv",
    contentType: "text/csv; charset=utf-8; header=present",
    ending: "csv",
    file: "rows",
    head: ({ columns }) => csvHeader(columns.map(({ name }) => name)),
    hasTrailer: false,
  },
  arrow: {
    shape: "arrow",
    contentType: ARROW_CONTENT_TYPE,
    ending: "arrows",
    head: (running) => running.arrowSchema(),
    tail: () => ARROW_END,
    hasTrailer: false,
  },
  shard: {
    shape: "arrow",
    contentType: ARROW_CONTENT_TYPE,
    encoding: "zstd",
    ending: "arrows",
    head: (running) => running.arrowSchema(running.columns.map((_, at) => receivedColumn(at))),
    tail: async (running) => concatBytes([ARROW_END, utf8(JSON.stringify(await running.stats()))]),
    hasTrailer: false,
  },
  parquet: {
    shape: "arrow",
    contentType: "application/vnd.apache.parquet",
    ending: "parquet",
    file: "rows",
    head: (running) => running.arrowSchema(),
    hasTrailer: false,
  },
};

interface StreamOptions {
  /** `shard`: for another server, `query/distributed/README.md`. */
  readonly format: StreamFormat | "shard";
  readonly stallMsMax: number;
  /** The name of the file, without its ending; undefined: the format's own, if it has one. */
  readonly download: string | undefined;
}

/**
 * Starts the prepared statement. What fails before the first rows is thrown and keeps its own
 * status; after that the answer owns `call`, and a failure is its last line.
 */
export async function streamResponse(
  call: SqlCall,
  { format, stallMsMax, download }: StreamOptions,
): Promise<Response> {
  const kind = KINDS[format];
  using held = new DisposableStack();
  const parquet = format === "parquet" ? held.use(new ArrowParquet()) : undefined;
  const { running, chunks, first } = await firstRows(call, kind.shape);
  const rendered = renderLines(call, { kind, running, first, chunks });
  const all = held.move();
  const pieces = inPieces(parquet === undefined ? rendered : parquetFile(rendered, parquet));
  const lines = kind.encoding === undefined ? pieces : zstdFrames(pieces);
  return pulledResponse({
    [Symbol.asyncIterator]: () => new StreamedLines(call, { lines, kind, stallMsMax, held: all }),
  }, {
    headers: {
      "content-type": kind.contentType,
      ...(kind.encoding === undefined ? {} : { "content-encoding": kind.encoding }),
      ...disposition(download ?? kind.file, kind),
    },
  });
}

/** The statement while it runs, and its first rows. Until these are there it may begin anew. */
async function firstRows(call: SqlCall, shape: RowShape) {
  for (;;) {
    try {
      const running = await call.run();
      const chunks = running.chunks(shape)[Symbol.asyncIterator]();
      const first = await chunks.next();
      call.throwIfStopped();
      return { running, chunks, first };
    } catch (error) {
      if (!await call.isBegunAnew(error, 0)) throw error;
    }
  }
}

/** RFC 6266: a plain name for every client, and the name itself. */
function disposition(given: string | undefined, { ending }: StreamKind): Record<string, string> {
  if (given === undefined) return {};
  // Half of a pair of surrogates has no bytes.
  const name = given.toWellFormed();
  const plain = name.replaceAll(/[^A-Za-z0-9 ._-]/g, "_");
  const whole = encodeURIComponent(`${name}.${ending}`).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return {
    "content-disposition": plain === name
      ? `attachment; filename="${name}.${ending}"`
      : `attachment; filename="${plain}.${ending}"; filename*=UTF-8''${whole}`,
  };
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
      /** What the lines hold, also before the first was asked for. */
      readonly held: Disposable;
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
    this.options.held[Symbol.dispose]();
    await this.call[Symbol.asyncDispose]();
  }
}

async function* renderLines(
  call: SqlCall,
  { kind, running, first, chunks }: {
    readonly kind: StreamKind;
    readonly running: RunningQuery;
    readonly first: IteratorResult<ResultChunk>;
    readonly chunks: AsyncIterator<ResultChunk>;
  },
): AsyncGenerator<Line | Trailer, undefined> {
  const rowsMax = call.limits.rowsReturnedMax;
  let sent = 0;
  try {
    const head = kind.head(running);
    if (head !== undefined) yield head;
    for (let next = first; !next.done; next = await chunks.next()) {
      call.throwIfStopped();
      const rows = Math.min(next.value.rowCount, rowsMax - sent);
      sent += rows;
      const isCut = next.value.rowCount > rows;
      // An Arrow message is whole, or not sent: without a trailer this answer fails anyway.
      if (rows > 0 && !(isCut && kind.shape === "arrow")) yield next.value.bytes(rows);
      if (isCut) {
        call.end("truncated", { rowsReturned: sent });
        yield { _meta: "truncated", row_count: sent, max_rows: rowsMax };
        return;
      }
    }
    call.throwIfStopped();
    if (kind.tail !== undefined) yield await kind.tail(running);
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

/** The messages of an Arrow stream as a Parquet file. */
async function* parquetFile(
  messages: AsyncGenerator<Line | Trailer, undefined>,
  file: ArrowParquet,
): AsyncGenerator<Line | Trailer, undefined> {
  using _file = file;
  let isFirst = true;
  try {
    for await (const message of messages) {
      if (isTrailer(message) || typeof message === "string") {
        yield message;
        return;
      }
      const ready = isFirst ? await file.schema(message) : await file.batch(message);
      isFirst = false;
      if (ready.byteLength > 0) yield ready;
    }
    yield await file.end();
  } finally {
    await messages.return(undefined);
  }
}

/** Bytes that are handed out at once. A client that takes less than this stalls. */
const PIECE_BYTES = 262_144;

async function* inPieces(
  lines: AsyncGenerator<Line | Trailer, undefined>,
): AsyncGenerator<Line | Trailer, undefined> {
  try {
    for await (const line of lines) {
      if (typeof line === "string" || isTrailer(line)) {
        yield line;
        continue;
      }
      for (let at = 0; at < line.byteLength; at += PIECE_BYTES) {
        yield line.subarray(at, at + PIECE_BYTES);
      }
    }
  } finally {
    await lines.return(undefined);
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
