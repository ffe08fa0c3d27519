/**
 * The container of derived data: a Puffin file, Iceberg's format for what is known about a table
 * beside its rows.
 *
 *     "PFA1" | blob | … | "PFA1" | payload: JSON | its length: u32 LE | flags: u32 LE, 0 | "PFA1"
 *
 * The payload is `{"properties":{"svc.crc32":"…",…},"blobs":[…]}` in just this order. The checksum
 * is of the payload with eight zeros in its own place: a footer with a flipped bit is refused
 * instead of naming another column. Each blob's property of that name is the checksum of the whole
 * blob, for `shared/tables/verify_file.ts`. Readers go by the checksums within each format, since
 * most blobs are read in parts. Blobs are not compressed.
 *
 * Not covered: compressed footers and blobs, files of other writers.
 */

import { z } from "zod";
import { concatBytes, crc32, textOf, utf8, viewOf } from "../base/bytes.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import type { Blob } from "./types.ts";

/** Where a blob lies in its file. */
export interface BlobPlace {
  readonly type: string;
  readonly fields: readonly number[];
  readonly offset: number;
  readonly length: number;
  /** CRC-32 of the blob; undefined in a file of an earlier version. */
  readonly sum: number | undefined;
  readonly properties: Readonly<Record<string, string>>;
}

/** What the footer of a Puffin file says. */
export interface PuffinFooter {
  readonly blobs: readonly BlobPlace[];
  readonly properties: Readonly<Record<string, string>>;
}

/** The footer, or how many bytes of the file's end it takes to read it. */
export type PuffinTail =
  | { readonly footer: PuffinFooter }
  | { readonly bytesNeeded: number };

const MAGIC = Uint8Array.of(0x50, 0x46, 0x41, 0x31);
/** Payload length, flags, magic. */
const TRAILER_BYTES = 12;
/** A footer has some 200 bytes for a blob, and a file some blobs for each column. */
const PAYLOAD_BYTES_MAX = 16 * 1024 * 1024;
/** The checksum of the footer itself: `sealed` says how. */
export const CHECKSUM_PROPERTY = "svc.crc32";
const PAYLOAD_START = `{"properties":{"${CHECKSUM_PROPERTY}":"`;
const CHECKSUM_LENGTH = 8;
const ZERO = 0x30;

const PAYLOAD = z.object({
  properties: z.record(z.string(), z.string()),
  blobs: z.array(
    z.object({
      type: z.string(),
      fields: z.array(z.int()),
      offset: z.int().min(MAGIC.byteLength),
      length: z.int().min(0),
      properties: z.record(z.string(), z.string()).default({}),
    }).transform(withSum),
  ),
});

/** The sum is a property like those of a blob's own. */
function withSum<T extends { properties: Record<string, string> }>(
  { properties: { [CHECKSUM_PROPERTY]: text, ...properties }, ...blob }: T,
) {
  return { ...blob, properties, sum: text === undefined ? undefined : Number.parseInt(text, 16) };
}

/** A whole file. `properties` are the file's own. */
export function writePuffin(
  blobs: readonly Blob[],
  properties: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const places = [];
  let offset = MAGIC.byteLength;
  for (const { type, fields, data, properties } of blobs) {
    places.push({
      type,
      fields,
      // No snapshot: the rows are those of one data file, whichever snapshots hold it.
      "snapshot-id": -1,
      "sequence-number": -1,
      offset,
      length: data.byteLength,
      properties: { ...properties, [CHECKSUM_PROPERTY]: checksumText(data) },
    });
    offset += data.byteLength;
  }
  const payload = sealed({ properties, blobs: places });
  const trailer = new DataView(new ArrayBuffer(TRAILER_BYTES));
  trailer.setUint32(0, payload.byteLength, true);
  const end = new Uint8Array(trailer.buffer);
  end.set(MAGIC, 8);
  return concatBytes([MAGIC, ...blobs.map(({ data }) => data), MAGIC, payload, end]);
}

function sealed(
  { properties, blobs }: {
    readonly properties: Readonly<Record<string, string>>;
    readonly blobs: readonly object[];
  },
): Uint8Array {
  const zeros = "0".repeat(CHECKSUM_LENGTH);
  const payload = utf8(
    JSON.stringify({ properties: { [CHECKSUM_PROPERTY]: zeros, ...properties }, blobs }),
  );
  payload.set(checksumOf(payload), PAYLOAD_START.length);
  return payload;
}

/** The checksum as a payload has it: hexadecimal digits. */
function checksumOf(payload: Uint8Array): Uint8Array {
  return utf8(checksumText(payload));
}

function checksumText(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(CHECKSUM_LENGTH, "0");
}

/**
 * Reads the footer from `tail`, the last bytes of a file of `size`. Errors: `corrupt`, naming
 * `what`.
 */
export function readPuffinTail(
  tail: Uint8Array,
  { size, what }: { readonly size: number; readonly what: string },
): PuffinTail {
  if (tail.byteLength < TRAILER_BYTES) throw corrupt(what, `it has ${size} bytes`);
  const view = viewOf(tail);
  const end = tail.byteLength;
  if (!isMagic(tail.subarray(end - MAGIC.byteLength))) throw corrupt(what, "it does not end so");
  if (view.getUint32(end - 8, true) !== 0) throw corrupt(what, "it has flags that nobody set");
  const payloadLength = view.getUint32(end - TRAILER_BYTES, true);
  const bytesNeeded = MAGIC.byteLength + payloadLength + TRAILER_BYTES;
  if (payloadLength > PAYLOAD_BYTES_MAX || bytesNeeded + MAGIC.byteLength > size) {
    throw corrupt(what, `its footer has ${payloadLength} bytes`);
  }
  if (bytesNeeded > end) return { bytesNeeded };
  const start = end - bytesNeeded;
  if (!isMagic(tail.subarray(start, start + MAGIC.byteLength))) {
    throw corrupt(what, "its footer does not begin so");
  }
  const payload = tail.subarray(start + MAGIC.byteLength, end - TRAILER_BYTES);
  return { footer: parsePayload(payload, { bodyEnd: size - bytesNeeded, what }) };
}

function parsePayload(
  payload: Uint8Array,
  { bodyEnd, what }: { readonly bodyEnd: number; readonly what: string },
): PuffinFooter {
  const checksumEnd = PAYLOAD_START.length + CHECKSUM_LENGTH;
  const unsealed = payload.slice().fill(ZERO, PAYLOAD_START.length, checksumEnd);
  const checksum = checksumOf(unsealed);
  const isIntact = payload.subarray(PAYLOAD_START.length, checksumEnd)
    .every((digit, at) => digit === checksum[at]);
  if (!isIntact) throw corrupt(what, "its footer fails its checksum");
  let footer: PuffinFooter;
  try {
    footer = PAYLOAD.parse(JSON.parse(textOf(payload)));
  } catch (error) {
    throw corrupt(what, messageOf(error));
  }
  for (const { offset, length } of footer.blobs) {
    if (offset + length > bodyEnd) throw corrupt(what, `a blob ends at ${offset + length}`);
  }
  return footer;
}

function isMagic(bytes: Uint8Array): boolean {
  return bytes.every((byte, at) => byte === MAGIC[at]);
}

function corrupt(what: string, why: string): OperatingError {
  return new OperatingError("corrupt", `Cannot read ${what} as a Puffin file: ${why}`);
}
