/**
 * HTTP client of the query server's `/api/v1/sql`, `/jobs`, `/indexes` and `/tail`. Every
 * failure is an `OperatingError` whose message can be shown as it is. No timeout of its own: the
 * server's wall clock ends a query, the signal cancels it.
 */

import {
  ERROR_KINDS,
  type ErrorCode,
  isOperatingError,
  messageOf,
  OperatingError,
  rootCauseOf,
  UsageError,
} from "../../shared/base/errors.ts";
import type { JobStatus } from "../../shared/catalog/job_states.ts";
import type { Cost, PlannedTable, Stats } from "../../shared/engine/types.ts";
import { printable } from "./display_width.ts";
import { type JsonValue, parseExactJson } from "./exact_json.ts";
import { isJsonObject } from "../../shared/document/json_object.ts";

export interface ClientOptions {
  /** Base address of the query server: `http://localhost:8089`. */
  readonly endpoint: string;
  readonly token?: string | undefined;
  /** Default: the runtime's `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface AskOptions {
  /** `limits.max_rows_returned`; default: the server's. */
  readonly rowsMax?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** See docs/api/query.md#records-answer. */
export interface RecordsBody {
  readonly columns: readonly string[];
  readonly row_count: number;
  readonly rows: readonly (readonly JsonValue[])[];
  readonly truncated?: boolean;
  readonly max_rows?: number | null;
  readonly cost: Cost;
  readonly stats: Stats;
}

/** A batch job: docs/api/query.md#batch-jobs. */
export interface JobBody {
  readonly job_id: string;
  readonly status: JobStatus;
  /** RFC 3339, as `ended_at`. */
  readonly started_at?: string;
  readonly ended_at?: string;
  readonly progress?: { readonly rows: number; readonly percent?: number };
  readonly error?: string;
}

export interface DryRunBody {
  readonly cost: Cost;
  readonly tables: readonly PlannedTable[];
  readonly served_by: string;
}

export interface Answer<T> {
  readonly body: T;
  /** From `x-svc-server-micros`; undefined when a proxy dropped it. */
  readonly serverMicros: number | undefined;
}

/**
 * One line of a streamed answer: a row as JSON text, or the trailer of
 * docs/api/query.md#ndjson-answer.
 */
export type StreamLine =
  | { readonly kind: "row"; readonly text: string }
  | { readonly kind: "trailer"; readonly trailer: Trailer };

export interface Trailer {
  readonly _meta: string;
  readonly [field: string]: JsonValue;
}

const ERROR_TEXT_LENGTH_MAX = 2_000;
/** What `fetch` puts before a failure: our message has the address anyway. */
const SENDING = /^error sending request for url \(.*?\): (?:client error \(\w+\): )?/;
const TRAILER_START = '{"_meta":';

export class SqlClient {
  readonly #base: string;
  readonly #endpoint: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: typeof fetch;

  /** Errors: `UsageError` when the endpoint is no HTTP address. */
  constructor(options: ClientOptions) {
    this.#endpoint = options.endpoint;
    this.#base = `${baseOf(options.endpoint)}/api/v1`;
    this.#headers = {
      "content-type": "application/json",
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
    };
    this.#fetch = options.fetch ?? fetch;
  }

  /** Runs a statement; an answer cut at the row cap (413) is an answer too, with `truncated`. */
  async records(query: string, options: AskOptions = {}): Promise<Answer<RecordsBody>> {
    const asked = { query, format: "records", ...limitsOf(options) };
    const response = await this.#post(asked, options.signal);
    const text = await this.#textOf(response);
    const body = response.ok || response.status === 413 ? tryParse(text) : undefined;
    if (!isRecords(body)) throw failureOf(response, text);
    return { body, serverMicros: serverMicrosOf(response) };
  }

  /**
   * The configuration of an index, as `GET /api/v1/indexes/{id}` answers. Errors: `not_found` for a
   * table that nobody configured.
   */
  async index(id: string): Promise<JsonValue> {
    const path = `/indexes/${encodeURIComponent(id)}`;
    const response = await this.#ask("GET", path, undefined, undefined);
    const text = await this.#textOf(response);
    const body = response.ok ? tryParse(text) : undefined;
    if (body === undefined) throw failureOf(response, text);
    return body;
  }

  /** Names of a table's attributes, those that most rows have first. Errors: the server's. */
  async attributes(table: string, signal?: AbortSignal): Promise<readonly string[]> {
    const path = `/fields?${new URLSearchParams({ table })}`;
    const response = await this.#ask("GET", path, undefined, signal);
    const text = await this.#textOf(response);
    const body = response.ok ? tryParse(text) : undefined;
    if (!isJsonObject(body) || !Array.isArray(body["fields"])) throw failureOf(response, text);
    return body["fields"].filter(isJsonObject).filter(({ kind }) => kind === "attribute")
      .map(({ name }) => String(name));
  }

  /** Submits a statement as a batch job; its id. */
  async submitJob(query: string, options: AskOptions = {}): Promise<string> {
    const asked = { query, priority: "batch", ...limitsOf(options) };
    const response = await this.#post(asked, options.signal);
    const text = await this.#textOf(response);
    const body = response.status === 202 ? tryParse(text) : undefined;
    if (!isJsonObject(body) || typeof body["job_id"] !== "string") throw failureOf(response, text);
    return body["job_id"];
  }

  /** The job once it has ended, or as it is after `waitSecs`. */
  async job(id: string, waitSecs: number, signal?: AbortSignal): Promise<JobBody> {
    const path = `/jobs/${encodeURIComponent(id)}?wait_secs=${waitSecs}`;
    const response = await this.#ask("GET", path, undefined, signal);
    const text = await this.#textOf(response);
    const body = response.ok ? tryParse(text) : undefined;
    if (!isJsonObject(body) || typeof body["status"] !== "string") throw failureOf(response, text);
    return body as unknown as JobBody;
  }

  /** The rows of a job that succeeded. */
  async jobResult(id: string, signal?: AbortSignal): Promise<Answer<RecordsBody>> {
    const path = `/jobs/${encodeURIComponent(id)}/result`;
    const response = await this.#ask("GET", path, undefined, signal);
    const text = await this.#textOf(response);
    const body = response.ok ? tryParse(text) : undefined;
    if (!isRecords(body)) throw failureOf(response, text);
    return { body, serverMicros: serverMicrosOf(response) };
  }

  async cancelJob(id: string): Promise<void> {
    const response = await this.#ask(
      "DELETE",
      `/jobs/${encodeURIComponent(id)}`,
      undefined,
      undefined,
    );
    const text = await this.#textOf(response);
    if (response.status !== 202) throw failureOf(response, text);
  }

  /** What the statement would cost; nothing runs. */
  async dryRun(query: string, signal?: AbortSignal): Promise<Answer<DryRunBody>> {
    const response = await this.#post({ query, dry_run: true }, signal);
    const text = await this.#textOf(response);
    const body = response.ok ? tryParse(text) : undefined;
    if (!isJsonObject(body) || !isJsonObject(body["cost"])) throw failureOf(response, text);
    return { body: body as unknown as DryRunBody, serverMicros: serverMicrosOf(response) };
  }

  /** Runs a statement and yields its lines as they arrive, many at a time. */
  async stream(
    query: string,
    options: AskOptions = {},
  ): Promise<Answer<AsyncIterable<readonly StreamLine[]>>> {
    const asked = { query, format: "ndjson", ...limitsOf(options) };
    const response = await this.#post(asked, options.signal);
    if (!response.ok || response.body === null) {
      throw failureOf(response, await this.#textOf(response));
    }
    return { body: this.#lines(response.body), serverMicros: serverMicrosOf(response) };
  }

  /**
   * The events of `GET /api/v1/tail` behind the event `lastId`; undefined: from now on. Errors:
   * those of the server, `unavailable` where it cannot be reached.
   */
  async tail(
    params: URLSearchParams,
    { lastId, signal }: { readonly lastId: string | undefined; readonly signal: AbortSignal },
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const resumed: Readonly<Record<string, string>> = lastId === undefined
      ? {}
      : { "last-event-id": lastId };
    try {
      const response = await this.#fetch(`${this.#base}/tail?${params}`, {
        headers: { ...this.#headers, ...resumed },
        signal,
      });
      if (!response.ok || response.body === null) {
        throw failureOf(response, await response.text());
      }
      return response.body;
    } catch (cause) {
      throw this.#unreachable(cause, signal);
    }
  }

  #post(body: Record<string, unknown>, signal: AbortSignal | undefined): Promise<Response> {
    return this.#ask("POST", "/sql", body, signal);
  }

  async #ask(
    method: "GET" | "POST" | "DELETE",
    path: string,
    body: Record<string, unknown> | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    try {
      return await this.#fetch(`${this.#base}${path}`, {
        method,
        headers: this.#headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (cause) {
      throw this.#unreachable(cause, signal);
    }
  }

  async #textOf(response: Response): Promise<string> {
    try {
      return await response.text();
    } catch (cause) {
      throw this.#unreachable(cause, undefined);
    }
  }

  async *#lines(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly StreamLine[]> {
    let open = "";
    try {
      for await (const text of body.pipeThrough(new TextDecoderStream())) {
        const lines = (open + text).split("\n");
        open = lines.pop() ?? "";
        if (lines.length > 0) yield lines.filter((line) => line !== "").map(streamLine);
      }
    } catch (cause) {
      throw this.#unreachable(cause, undefined);
    }
    if (open !== "") yield [streamLine(open)];
  }

  #unreachable(cause: unknown, signal: AbortSignal | undefined): OperatingError {
    if (isOperatingError(cause)) return cause;
    const aborted = signal?.aborted || (cause instanceof Error && cause.name === "AbortError");
    if (aborted) return new OperatingError("cancelled", "Query cancelled", { cause });
    const why = messageOf(rootCauseOf(cause)).replace(SENDING, "");
    const remedy = /certificate/i.test(why)
      ? "Name a file that its certificate can be checked with (PEM) in DENO_CERT, and the host " +
        "that the certificate is for with --endpoint"
      : "Start one with `svc-query-server` (or the whole stack with `deno task dev`), " +
        "or name another with --endpoint or SVC_ENDPOINT";
    return new OperatingError(
      "unavailable",
      `Cannot reach the query server at ${this.#endpoint}: ${why}. ${remedy}`,
      { cause },
    );
  }
}

function baseOf(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new UsageError(
      `Cannot use ${JSON.stringify(endpoint)} as the query server's address: ` +
        "give an http:// or https:// URL, for example http://localhost:8089",
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function streamLine(text: string): StreamLine {
  if (text.startsWith(TRAILER_START)) {
    return { kind: "trailer", trailer: parseExactJson(text) as Trailer };
  }
  return { kind: "row", text };
}

/** What to do about a refused caller, by status. */
const TOKEN_REMEDIES: Readonly<Record<number, string>> = {
  401: "; give a token with --token or SVC_TOKEN",
  403: "; give the token of a tenant that may read with --token or SVC_TOKEN",
};

/** The error that a refusing response stands for. */
function failureOf(response: Response, text: string): OperatingError {
  const body = tryParse(text);
  const said = isJsonObject(body) && typeof body["error"] === "string"
    ? body["error"]
    : text.trim();
  const [shown = "no message", ...more] = messageLines(said || "no message");
  const retryAfter = Number(response.headers.get("retry-after") ?? NaN);
  const retry = Number.isFinite(retryAfter) ? `; try again in ${retryAfter} s` : "";
  const token = TOKEN_REMEDIES[response.status] ?? "";
  return new OperatingError(
    codeOf(response.status),
    response.ok
      ? `Cannot read the answer of ${response.url}: it is not what a query server sends. ` +
        "Check --endpoint"
      : [`${shown} (HTTP ${response.status}${token}${retry})`, ...more].join("\n"),
  );
}

/**
 * What a server said, bounded and safe to show; a SQL error points at its place on a line of its
 * own.
 */
export function messageLines(text: string): string[] {
  return text.slice(0, ERROR_TEXT_LENGTH_MAX).split("\n").map((line) => printable(line).trimEnd());
}

function limitsOf({ rowsMax }: AskOptions): Record<string, unknown> {
  return rowsMax === undefined ? {} : { limits: { max_rows_returned: rowsMax } };
}

/** The error code of an HTTP status of the server's. */
export function codeOf(status: number): ErrorCode {
  const codes = Object.keys(ERROR_KINDS) as ErrorCode[];
  return codes.find((code) => ERROR_KINDS[code].http === status) ?? "internal";
}

function serverMicrosOf(response: Response): number | undefined {
  const header = response.headers.get("x-svc-server-micros");
  return header !== null && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

function tryParse(text: string): JsonValue | undefined {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

function isRecords(body: unknown): body is RecordsBody {
  return isJsonObject(body) && Array.isArray(body["columns"]) && Array.isArray(body["rows"]) &&
    isJsonObject(body["cost"]) && isJsonObject(body["stats"]);
}
