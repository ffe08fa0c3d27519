/**
 * Answers of both APIs as pieces of JSON text, and their errors. v1 has an envelope with `data` and
 * `errors`. v3 has the message itself, or `{"error":{"httpCode","message"}}`.
 */

import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { asOperatingError, errorHeaders, jsonResponse } from "../../shared/http/error_response.ts";
import { jaegerTrace } from "./jaeger_trace.ts";
import { otlpTraces } from "./otlp_trace.ts";
import type { Span } from "./span.ts";
import { shortTraceId } from "./trace_id.ts";
import { countSpans, type Trace } from "./traces.ts";

/** What a route answers: its pieces are made while they are taken. */
export interface TraceAnswer {
  readonly pieces: Iterable<string>;
  /** Spans in the answer, for the metrics; absent where it has none. */
  readonly spans?: number;
}

/** A list in v1's envelope. */
export function v1List(data: readonly unknown[]): TraceAnswer {
  return { pieces: [JSON.stringify(envelope(data, data.length, null))] };
}

/** Traces in v1's envelope; `missing` are ids that were asked for and are not there. */
export function v1Traces(
  traces: readonly Trace<Span>[],
  missing: readonly string[] = [],
): TraceAnswer {
  const errors = missing.length === 0
    ? null
    : missing.map((id) => ({ msg: TRACE_NOT_FOUND, traceID: shortTraceId(id) }));
  return { pieces: v1Pieces(traces, errors), spans: countSpans(traces) };
}

/** Jaeger does not count traces: their `total` is 0. */
function* v1Pieces(traces: readonly Trace<Span>[], errors: unknown): Generator<string> {
  yield '{"data":[';
  let separator = "";
  for (const trace of traces) {
    yield separator;
    yield* jaegerTrace(trace);
    separator = ",";
  }
  yield `],"total":0,"limit":0,"offset":0,"errors":${JSON.stringify(errors)}}`;
}

/** An error in v1's envelope, with the error's own HTTP status. */
export function v1Error(thrown: unknown): Response {
  const error = asOperatingError(thrown);
  const { httpStatus: code } = error;
  return errorAnswer(error, envelope(null, 0, [{ code, msg: error.message }]));
}

/** One of v3's messages. */
export function v3Message(message: Readonly<Record<string, unknown>>): TraceAnswer {
  return { pieces: [JSON.stringify(message)] };
}

/** Traces in v3's form, which puts them in a `result`. */
export function v3Traces(traces: readonly Trace<Span>[]): TraceAnswer {
  return { pieces: v3Pieces(traces), spans: countSpans(traces) };
}

function* v3Pieces(traces: readonly Trace<Span>[]): Generator<string> {
  yield '{"result":';
  yield* otlpTraces(traces);
  yield "}";
}

/** An error in v3's form, with the error's own HTTP status. */
export function v3Error(thrown: unknown): Response {
  const error = asOperatingError(thrown);
  // Jaeger's clients look for this sentence.
  const message = isTraceNotFound(error) ? "No traces found" : error.message;
  return errorAnswer(error, { error: { httpCode: error.httpStatus, message } });
}

const TRACE_NOT_FOUND = "trace not found";

/** The `not_found` of a trace that has no span. */
export function traceNotFound(): OperatingError {
  return new OperatingError("not_found", TRACE_NOT_FOUND, { reason: "trace_not_found" });
}

function isTraceNotFound(error: OperatingError): boolean {
  return isOperatingError(error, "not_found") && error.reason === "trace_not_found";
}

/** The JSON indented by four, which is Jaeger's indent. */
export function* indented(pieces: Iterable<string>): Generator<string> {
  yield JSON.stringify(JSON.parse([...pieces].join("")), null, 4);
}

function envelope(data: readonly unknown[] | null, total: number, errors: unknown) {
  return { data, total, limit: 0, offset: 0, errors };
}

function errorAnswer(error: OperatingError, body: unknown): Response {
  return jsonResponse(body, { status: error.httpStatus, headers: errorHeaders(error) });
}
