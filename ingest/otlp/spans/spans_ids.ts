/**
 * Ids of traces and spans. OTLP calls an id invalid whose length is wrong or whose bytes are all
 * zero: a span without valid ids cannot be found again and is refused. A parent of zeros means
 * none, as an empty one does.
 */

import { hexOf } from "../../../shared/base/bytes.ts";
import { OperatingError } from "../../../shared/base/errors.ts";

export const TRACE_ID_BYTES = 16;
export const SPAN_ID_BYTES = 8;

export interface Id {
  /** Where its bytes are. */
  readonly span: { readonly start: number; readonly end: number };
  /** How many it should have. */
  readonly bytes: number;
}

/** Refuses an id of another length, and one of zeros; `what` says whose it is. */
export function refuseInvalidId(what: string, view: DataView, id: Id): void {
  const { start, end } = id.span;
  if (end - start !== id.bytes || isZero(view, start, end)) throw refusal(what, view, id);
}

/** Refuses an id of another length that is not empty. */
export function refuseIdLength(what: string, view: DataView, id: Id): void {
  const { start, end } = id.span;
  if (end !== start && end - start !== id.bytes) throw refusal(what, view, id);
}

/** Whether all bytes of a span are zero, as are those of an empty one. */
export function isZero(view: DataView, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if (view.getUint8(at) !== 0) return false;
  }
  return true;
}

function refusal(
  what: string,
  view: DataView,
  { span: { start, end }, bytes }: Id,
): OperatingError {
  const given = new Uint8Array(view.buffer, view.byteOffset + start, Math.min(end - start, 64));
  const cut = end - start > given.length ? "…" : "";
  return new OperatingError(
    "invalid_argument",
    `Cannot store ${what} "${hexOf(given)}${cut}" of ${end - start} bytes: ` +
      `send ${bytes} bytes that are not all zero`,
    { reason: "bad_id" },
  );
}
