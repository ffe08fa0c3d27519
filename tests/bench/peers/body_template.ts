/**
 * A request that is encoded once. Before it is sent, the places that its rows' numbers decide are
 * written into it: all have fixed widths, so nothing moves.
 */

import { Buffer } from "node:buffer";
import { ENCODINGS, type Form, TIME_MARK_MS, TIME_MARK_SECS } from "./encodings.ts";
import { writeHex32 } from "./mix.ts";
import {
  durationOf,
  durationParts,
  idWord,
  isRare,
  RARE_WORD,
  spanWord,
  timeNsOf,
  traceWord,
} from "./row_numbers.ts";
import { MARKS, type Shape } from "./shape.ts";

type Place = "time" | "trace" | "span" | "id" | "duration";

/** Writes what `row` has at one place. */
type Patch = (body: Uint8Array, at: number, row: number, total: number) => void;

export interface BodyTemplate {
  readonly bytes: Uint8Array;
  readonly rows: number;
  /** Where each place is, row by row; a row may have several of one. */
  readonly places: readonly { readonly place: Place; readonly offsets: Int32Array }[];
}

const RARE_BYTES = new TextEncoder().encode(RARE_WORD);
const ZERO = 48;

/** The template of the request whose first row has the template `first`. */
export function buildBody(
  shape: Shape,
  { form, first, rows }: { readonly form: Form; readonly first: number; readonly rows: number },
): BodyTemplate {
  const templates = Array.from(
    { length: rows },
    (_, i) => shape.template((first + i) % shape.templateRows),
  );
  const bytes = ENCODINGS[form].encode(templates, shape.hasTrace);
  const places = (Object.keys(PATCHES[form]) as Place[]).flatMap((place) => {
    const offsets = offsetsOf(bytes, MARK_BYTES[form][place]);
    if (offsets.length % rows !== 0) {
      throw new Error(`${rows} rows have ${offsets.length} marks of their ${place}`);
    }
    return offsets.length === 0 ? [] : [{ place, offsets: Int32Array.from(offsets) }];
  });
  return { bytes, rows, places };
}

/**
 * Writes the request of the rows from `first` on into `into`, which is at least as long; its bytes.
 */
export function fillBody(
  { bytes, rows, places }: BodyTemplate,
  { form, first, total }: { readonly form: Form; readonly first: number; readonly total: number },
  into: Uint8Array,
): Uint8Array {
  into.set(bytes);
  for (const { place, offsets } of places) {
    const patch = PATCHES[form][place];
    const each = offsets.length / rows;
    for (let i = 0; i < offsets.length; i += 1) {
      patch(into, offsets[i] ?? 0, first + Math.floor(i / each), total);
    }
  }
  return into.subarray(0, bytes.length);
}

function offsetsOf(bytes: Uint8Array, mark: Uint8Array): number[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const offsets: number[] = [];
  for (let at = buffer.indexOf(mark); at >= 0; at = buffer.indexOf(mark, at + mark.length)) {
    offsets.push(at);
  }
  return offsets;
}

function text(value: string | number): Uint8Array {
  return new TextEncoder().encode(String(value));
}

function bigBytes(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}

const TEXT_MARKS = {
  trace: text(MARKS.trace),
  span: text(MARKS.span),
  id: text(MARKS.id),
  duration: text(MARKS.duration),
};

const MARK_BYTES: Readonly<Record<Form, Readonly<Record<Place, Uint8Array>>>> = {
  otlp: {
    time: bigBytes(MARKS.timeNs),
    trace: Uint8Array.fromHex(MARKS.trace),
    span: Uint8Array.fromHex(MARKS.span),
    id: text(MARKS.id),
    duration: new Uint8Array(new Float64Array([MARKS.duration]).buffer),
  },
  bulk: { time: text(TIME_MARK_MS), ...TEXT_MARKS },
  insert: { time: text(TIME_MARK_SECS), ...TEXT_MARKS },
};

const TEXT_PATCHES = { trace: patchHexTrace, span: patchHexSpan, id: patchId } as const;

const PATCHES: Readonly<Record<Form, Readonly<Record<Place, Patch>>>> = {
  otlp: {
    time: patchFixedTime,
    trace: patchTrace,
    span: patchSpan,
    id: patchId,
    duration: patchDouble,
  },
  bulk: { time: patchMilliseconds, duration: patchDurationText, ...TEXT_PATCHES },
  insert: { time: patchSeconds, duration: patchDurationText, ...TEXT_PATCHES },
};

const scratch = new DataView(new ArrayBuffer(8));
const scratchBytes = new Uint8Array(scratch.buffer);

function patchFixedTime(body: Uint8Array, at: number, row: number, total: number): void {
  scratch.setBigUint64(0, timeNsOf(row, total), true);
  body.set(scratchBytes, at);
}

function patchMilliseconds(body: Uint8Array, at: number, row: number, total: number): void {
  const ms = timeNsOf(row, total) / 1_000_000n;
  for (const [i, digit] of [...String(ms)].entries()) body[at + i] = ZERO + Number(digit);
}

/** Ten digits of seconds, a point, nine of nanoseconds. */
function patchSeconds(body: Uint8Array, at: number, row: number, total: number): void {
  const digits = String(timeNsOf(row, total));
  for (let i = 0; i < 19; i += 1) body[at + i + (i < 10 ? 0 : 1)] = digits.charCodeAt(i);
}

function patchTrace(body: Uint8Array, at: number, row: number): void {
  for (let word = 0; word < 4; word += 1) writeBigEndian(body, at + 4 * word, traceWord(row, word));
}

function patchSpan(body: Uint8Array, at: number, row: number): void {
  for (let word = 0; word < 2; word += 1) writeBigEndian(body, at + 4 * word, spanWord(row, word));
}

function writeBigEndian(body: Uint8Array, at: number, value: number): void {
  body[at] = value >>> 24;
  body[at + 1] = value >>> 16;
  body[at + 2] = value >>> 8;
  body[at + 3] = value;
}

function patchHexTrace(body: Uint8Array, at: number, row: number): void {
  for (let word = 0; word < 4; word += 1) writeHex32(body, at + 8 * word, traceWord(row, word));
}

function patchHexSpan(body: Uint8Array, at: number, row: number): void {
  for (let word = 0; word < 2; word += 1) writeHex32(body, at + 8 * word, spanWord(row, word));
}

function patchId(body: Uint8Array, at: number, row: number, total: number): void {
  if (isRare(row, total)) {
    body.set(RARE_BYTES, at);
    return;
  }
  for (let word = 0; word < 2; word += 1) writeHex32(body, at + 8 * word, idWord(row, word));
}

function patchDouble(body: Uint8Array, at: number, row: number): void {
  scratch.setFloat64(0, durationOf(row), true);
  body.set(scratchBytes, at);
}

/** Writes `1.2345e+2`, which has the width of the mark. */
function patchDurationText(body: Uint8Array, at: number, row: number): void {
  const { mantissa, magnitude } = durationParts(row);
  const digits = String(mantissa);
  body[at] = digits.charCodeAt(0);
  body[at + 1] = 46;
  for (let i = 1; i < 5; i += 1) body[at + 1 + i] = digits.charCodeAt(i);
  body[at + 6] = 101;
  body[at + 7] = 43;
  body[at + 8] = ZERO + magnitude;
}
