/** Trace routes over a real engine, warehouse and WAL in a temporary directory. For tests. */

import assert from "node:assert/strict";
import { present } from "../../shared/base/assert.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows, type RowObject } from "../../shared/columns/rows.ts";
import { TRACES_SCHEMA, TRACES_TABLE } from "../../shared/schema/traces.ts";
import { ByteBudget } from "../../shared/base/byte_budget.ts";
import { commitRewrite } from "../../shared/iceberg/commit_rewrite.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { queryApp, type QueryService } from "../../query/routes.ts";
import { testService } from "../doubles/query_server.ts";

/** 2026-11-20T00:00:00Z */
export const DAY_NS = 1_795_132_800_000_000_000n;
const SEC_NS = 1_000_000_000n;
const PREFIX = "/api/v1/tracing/traces/api";
const CONNECTION = { remoteAddr: { hostname: "127.0.0.1" } };
const ANSWERS_BYTES = 64 * 2 ** 20;

/** What a test says of a span; the rest has defaults. */
export interface SpanFields {
  readonly trace: number | string;
  readonly span: number;
  /** A row of the same trace; default: a root. */
  readonly parent?: number | null;
  /** Seconds after `DAY_NS`. */
  readonly at: number;
  readonly service?: string;
  readonly name?: string;
  readonly kind?: string;
  readonly status?: string;
  readonly durationNs?: bigint;
  readonly columns?: RowObject;
}

export const traceId = (trace: number | string) =>
  typeof trace === "string" ? trace : `a${trace.toString(16).padStart(31, "0")}`;
export const spanId = (span: number) => `b${span.toString(16).padStart(15, "0")}`;

export function spanRow(fields: SpanFields): RowObject {
  const ns = DAY_NS + BigInt(Math.round(fields.at * 1e6)) * 1_000n;
  return {
    timestamp: ns / 1_000n,
    timestamp_ns: ns,
    trace_id: traceId(fields.trace),
    span_id: spanId(fields.span),
    parent_span_id: fields.parent === undefined || fields.parent === null
      ? null
      : spanId(fields.parent),
    service: fields.service ?? "shop",
    name: fields.name ?? "GET /",
    kind: fields.kind ?? "SPAN_KIND_SERVER",
    status_code: fields.status ?? "STATUS_CODE_UNSET",
    status_message: null,
    duration_nanos: fields.durationNs ?? 1_000_000n,
    trace_state: null,
    scope_name: null,
    scope_version: null,
    attributes: null,
    resource_attributes: null,
    events: null,
    links: null,
    ...fields.columns,
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // deno-lint-ignore no-explicit-any -- whatever the route answers
  readonly json: any;
}

export class TraceLab implements AsyncDisposable {
  readonly #app: ReturnType<typeof queryApp>;

  private constructor(readonly lab: EngineLab, readonly service: QueryService) {
    this.#app = queryApp(service);
  }

  static async open(fields: Partial<QueryService> = {}): Promise<TraceLab> {
    const lab = await EngineLab.open({ wal: true });
    const answers = new ByteBudget(ANSWERS_BYTES);
    return new TraceLab(lab, testService(lab.engine, { answers, ...fields }));
  }

  /** Commits spans of one day as one file; `derived`: with its indexes. */
  commit(
    spans: readonly SpanFields[],
    { table = TRACES_TABLE, derived = false }: {
      readonly table?: string;
      readonly derived?: boolean;
    } = {},
  ): Promise<void> {
    const rows = spans.map(spanRow).sort((a, b) =>
      Number(BigInt(a["timestamp_ns"] as bigint) - BigInt(b["timestamp_ns"] as bigint))
    );
    return this.lab.commitRows(rows, {
      ident: { namespace: "svc", name: table },
      schema: TRACES_SCHEMA,
      derived,
    });
  }

  /** Takes the oldest file out of the table, as retention does. */
  async removeOldestFile(): Promise<void> {
    const { catalog, store } = this.lab;
    const ident = { namespace: "svc", name: TRACES_TABLE };
    const reader = new IcebergReader(store);
    const location = present(await catalog.metadataLocation(ident));
    const table = await reader.loadTable(ident, location);
    const { files } = await reader.selectFiles(table);
    const [oldest] = files;
    assert.ok(oldest !== undefined);
    const replaced = { tableUuid: table.uuid, replaced: [oldest], files: [] };
    await commitRewrite(this.lab, { ident, kind: "retention", ...replaced });
  }

  /** Appends spans to the WAL. */
  async append(spans: readonly SpanFields[], tenant = "default"): Promise<void> {
    const batch = encodeBatch(batchOfRows(TRACES_SCHEMA, spans.map(spanRow)));
    await this.lab.wal?.append({ tenant, index: TRACES_TABLE }, batch, "auto");
  }

  /** `path` is after `/api/v1/tracing/traces/api`, or a whole one. */
  async get(path: string, init: RequestInit = {}): Promise<Reply> {
    const whole = path.startsWith("/api/") ? path : `${PREFIX}${path}`;
    const response = await this.#app.request(whole, init, CONNECTION);
    const text = await response.text();
    assert.match(response.headers.get("content-type") ?? "", /^application\/json$/, text);
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: JSON.parse(text),
    };
  }

  /** Status and headers alone. */
  async head(path: string): Promise<Response> {
    return await this.#app.request(`${PREFIX}${path}`, { method: "HEAD" }, CONNECTION);
  }

  /** The JSON that `get` gives; any status but 200 fails the test. */
  // deno-lint-ignore no-explicit-any -- whatever the route answers
  async ok(path: string): Promise<any> {
    const { status, json, text } = await this.get(path);
    assert.equal(status, 200, text);
    return json;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab[Symbol.asyncDispose]();
  }
}

/** Unix microseconds, as v1 has times. */
export const micros = (seconds: number) => String(Number(DAY_NS / 1_000n) + seconds * 1e6);
/** RFC 3339, as v3 has them. */
export const rfc3339 = (seconds: number) =>
  new Date(Number((DAY_NS + BigInt(seconds) * SEC_NS) / 1_000_000n)).toISOString();
