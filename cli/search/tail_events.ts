/** Events of `GET /api/v1/tail` as they arrive: docs/api/query.md#tail. */

import { isJsonObject } from "../../shared/document/json_object.ts";
import { EventParser } from "../../shared/http/event_parser.ts";
import { type JsonValue, parseExactJson } from "../sql/exact_json.ts";

/** An event with data. Rows are lists of values in the order of the columns. */
export type TailEvent =
  | {
    readonly kind: "rows";
    readonly columns: readonly string[];
    readonly rows: readonly (readonly JsonValue[])[];
    readonly skipped: number;
  }
  | { readonly kind: "lost"; readonly rows: number | undefined; readonly reason: string }
  | { readonly kind: "end"; readonly reason: string; readonly error: string };

/** What a reader of events learns. */
export type TailMessage =
  /** Something arrived: the connection lives. */
  | { readonly kind: "sign" }
  | { readonly kind: "event"; readonly id: string | undefined; readonly event: TailEvent };

/**
 * Reads events until the stream ends or `signal` aborts. Events of other names are passed over. The
 * signal of `fetch` is not enough: the runtime may forget it once there is an answer.
 */
export async function* tailMessages(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): AsyncGenerator<TailMessage> {
  const reader = body.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  try {
    yield* messagesOf(reader);
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

async function* messagesOf(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<TailMessage> {
  const decoder = new TextDecoder();
  const parser = new EventParser(undefined);
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    yield { kind: "sign" };
    for (const { name, data, id } of parser.push(decoder.decode(read.value, { stream: true }))) {
      const event = eventOf(name, parseExactJson(data));
      if (event !== undefined) yield { kind: "event", id, event };
    }
  }
}

function eventOf(name: string, data: JsonValue): TailEvent | undefined {
  if (!isJsonObject(data)) return undefined;
  const { columns, rows, skipped, reason, error } = data;
  switch (name) {
    case "rows":
      return {
        kind: "rows",
        columns: (Array.isArray(columns) ? columns : []).map(String),
        rows: Array.isArray(rows) ? rows : [],
        skipped: Number(skipped ?? 0),
      };
    case "lost":
      return {
        kind: "lost",
        rows: rows === null ? undefined : Number(rows),
        reason: String(reason),
      };
    case "end":
      return { kind: "end", reason: String(reason), error: String(error) };
    default:
      return undefined;
  }
}
