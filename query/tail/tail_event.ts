/** Events of a tail: docs/api/query.md#tail. */

import { utf8 } from "../../shared/base/bytes.ts";

/** A line that keeps proxies from closing an idle connection. */
export const KEEP_ALIVE = utf8(": keep-alive\n\n");
/** How long a browser waits before it connects again. */
export const RETRY = utf8("retry: 1000\n\n");

/** Rows of a table as their JSON texts, each with a comma behind it. */
export interface TailRowsEvent {
  readonly columns: readonly string[];
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  readonly skipped: number;
  /** Where a tail goes on behind them. */
  readonly id: string;
}

/** `event: rows`. */
export function rowsEvent(
  { columns, parts, skipped, id }: TailRowsEvent,
): Uint8Array<ArrayBuffer> {
  const head = utf8(`event: rows\nid: ${id}\ndata: {"columns":${JSON.stringify(columns)},"rows":[`);
  const tail = utf8(`],"skipped":${skipped}}\n\n`);
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, head.length + tail.length);
  // The last comma gives way.
  const event = new Uint8Array(bytes - (parts.length > 0 ? 1 : 0));
  let at = 0;
  for (const part of [head, ...parts]) {
    event.set(part, at);
    at += part.byteLength;
  }
  event.set(tail, parts.length > 0 ? at - 1 : at);
  return event;
}

/** Why a reader misses rows: it was slow, or where it was is not there any more. */
export type LostReason = "slow_reader" | "position_expired";

/** `event: lost`; `rows` is null where nobody knows the number. */
export function lostEvent(
  { rows, reason, id }: {
    readonly rows: number | null;
    readonly reason: LostReason;
    readonly id: string;
  },
): Uint8Array<ArrayBuffer> {
  return utf8(`event: lost\nid: ${id}\ndata: ${JSON.stringify({ rows, reason })}\n\n`);
}

/** `event: end`, the last one: why, and what to do. */
export function endEvent(
  end: { readonly reason: string; readonly error: string },
): Uint8Array<ArrayBuffer> {
  return utf8(`event: end\ndata: ${JSON.stringify(end)}\n\n`);
}
