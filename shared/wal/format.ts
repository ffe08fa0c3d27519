/**
 * The bytes of a segment: a header, then frames. README.md has the diagram. Everything here is
 * pure; every length is bounded before anything is allocated for it.
 */

import { assert, present } from "../base/assert.ts";
import { crc32, textOf, utf8, viewOf } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { decodeFrameKey, encodeFrameKey, FRAME_KEY_BYTES, type FrameKey } from "./frame_key.ts";
import {
  PACKED_HEAD_BYTES,
  packedMessageBytes,
  packMessage,
  unpackMessage,
} from "./packed_message.ts";
import type { WalBatch } from "./types.ts";

/**
 * Written. Read as well: 4, which has no summaries, 3, which packs no message either, 2, whose
 * messages leave nothing out besides, and 1, which has no keys either.
 */
const SEGMENT_VERSION = 5;
const SEGMENT_VERSION_MIN = 1;
/** Bytes that tell how long the header is. */
export const HEADER_FIXED_BYTES = 32;
export const HEADER_BYTES_MAX = 1024 * 1024;
export const FRAME_HEADER_BYTES = 32;
export const FRAME_PAYLOAD_BYTES_MAX = 128 * 1024 * 1024;
/** The highest byte of the longest payload. */
const FRAME_PAYLOAD_TOP = FRAME_PAYLOAD_BYTES_MAX >> 24;

const MAGIC = 0x57435653; // "SVCW" as a little-endian u32
const HEADER_CRC_OFFSET = 12;
const FRAME_CRC_OFFSET = 4;
/** The bytes of the summary, a multiple of 8, in whose low bits the flags are. */
const FRAME_FLAGS_OFFSET = 14;
const FLAGS = 7;
const FLAG_PACKED = 1;
export const FRAME_SUMMARY_BYTES_MAX = 0xffff - FLAGS;

/** What the header of a segment says; the time is in Unix milliseconds. */
export interface SegmentHeader {
  readonly lane: LaneId;
  readonly createdMs: number;
  /** Encapsulated Arrow IPC schema message of every frame. */
  readonly schemaMessage: Uint8Array;
}

export interface DecodedHeader extends SegmentHeader {
  readonly byteLength: number;
  /** The header as it was read: for copies, whose frames are good only behind this very header. */
  readonly bytes: Uint8Array;
  /** Seed of the CRC of this segment's frames. */
  readonly frameSeed: number;
}

/** What stands before a frame's payload; times in Unix nanoseconds. */
export interface FrameHeader {
  readonly payloadBytes: number;
  /** Bytes of the idempotency key before the payload: 0 without one. */
  readonly keyBytes: number;
  /** Bytes of the summary between key and payload: 0 without one. */
  readonly summaryBytes: number;
  /** The payload is a packed message (`packed_message.ts`), or the message itself. */
  readonly isPacked: boolean;
  readonly crc: number;
  readonly rows: number;
  readonly timestampNsMin: bigint;
  readonly timestampNsMax: bigint;
}

/** The header's bytes; their CRC is the seed of the frames' CRC. */
export function encodeHeader(
  header: SegmentHeader,
): { bytes: Uint8Array<ArrayBuffer>; frameSeed: number } {
  const tenant = utf8(header.lane.tenant);
  const index = utf8(header.lane.index);
  const used = HEADER_FIXED_BYTES + tenant.byteLength + index.byteLength +
    header.schemaMessage.byteLength;
  const length = Math.ceil(used / 8) * 8;
  assert(length <= HEADER_BYTES_MAX, `segment header of ${length} bytes`);
  const bytes = new Uint8Array(length);
  const view = viewOf(bytes);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, SEGMENT_VERSION, true);
  view.setUint32(8, length, true);
  view.setBigInt64(16, BigInt(header.createdMs), true);
  view.setUint16(24, tenant.byteLength, true);
  view.setUint16(26, index.byteLength, true);
  view.setUint32(28, header.schemaMessage.byteLength, true);
  bytes.set(tenant, HEADER_FIXED_BYTES);
  bytes.set(index, HEADER_FIXED_BYTES + tenant.byteLength);
  bytes.set(header.schemaMessage, HEADER_FIXED_BYTES + tenant.byteLength + index.byteLength);
  const frameSeed = crcOfHeader(bytes);
  view.setUint32(HEADER_CRC_OFFSET, frameSeed, true);
  return { bytes, frameSeed };
}

/**
 * Length of the header that begins with `fixed`. Throws `unimplemented` for a version that this
 * program does not know and `corrupt` for what is no segment; `where` names it in the message.
 */
export function headerLengthOf(fixed: Uint8Array, where: string): number {
  assert(fixed.byteLength >= HEADER_FIXED_BYTES);
  const view = viewOf(fixed);
  if (view.getUint32(0, true) !== MAGIC) throw corrupt(where, "it does not begin with SVCW");
  const version = view.getUint16(4, true);
  if (version < SEGMENT_VERSION_MIN || version > SEGMENT_VERSION) {
    throw new OperatingError(
      "unimplemented",
      `cannot read WAL segment ${where}: it has version ${version}, this program reads versions ` +
        `${SEGMENT_VERSION_MIN} to ${SEGMENT_VERSION}; use the release that wrote it`,
      { reason: "wal_segment_version" },
    );
  }
  const length = view.getUint32(8, true);
  const used = HEADER_FIXED_BYTES + view.getUint16(24, true) + view.getUint16(26, true) +
    view.getUint32(28, true);
  if (length > HEADER_BYTES_MAX || length % 8 !== 0 || used > length) {
    throw corrupt(where, `its header says it is ${length} bytes long`);
  }
  return length;
}

/**
 * Decodes a whole header (as long as `headerLengthOf` said); throws `corrupt` when its CRC is
 * wrong.
 */
export function decodeHeader(bytes: Uint8Array, where: string): DecodedHeader {
  const view = viewOf(bytes);
  const frameSeed = view.getUint32(HEADER_CRC_OFFSET, true);
  if (crcOfHeader(bytes) !== frameSeed) throw corrupt(where, "its header fails its checksum");
  const indexStart = HEADER_FIXED_BYTES + view.getUint16(24, true);
  const schemaStart = indexStart + view.getUint16(26, true);
  return {
    lane: {
      tenant: textOf(bytes.subarray(HEADER_FIXED_BYTES, indexStart)),
      index: textOf(bytes.subarray(indexStart, schemaStart)),
    },
    createdMs: Number(view.getBigInt64(16, true)),
    schemaMessage: bytes.slice(schemaStart, schemaStart + view.getUint32(28, true)),
    byteLength: bytes.byteLength,
    bytes,
    frameSeed,
  };
}

/** Bytes that `layFrames` needs for `batch`; the finished frame has as many or less. */
export function frameLengthMax(batch: WalBatch): number {
  return FRAME_HEADER_BYTES + keyBytesOf(batch) + summaryBytesOf(batch) + batch.byteLength;
}

function keyBytesOf({ key }: WalBatch): number {
  return key === undefined ? 0 : FRAME_KEY_BYTES;
}

function summaryBytesOf({ summary }: WalBatch): number {
  return summary?.byteLength ?? 0;
}

/**
 * Bytes that `layingFrames` copies before it yields: some 3 ms, most of them for memory that is
 * new.
 */
const LAID_AT_ONCE = 4 * 1024 * 1024;

/**
 * Lays `batches` as frames into `into`, one behind the other, for `finishFrames`; returns the
 * offset behind them.
 */
export function layFrames(batches: readonly WalBatch[], into: Uint8Array): number {
  const laying = layingFrames(batches, into);
  for (;;) {
    const { done, value } = laying.next();
    if (done === true) return value;
  }
}

/** Lays frames as `layFrames` does, with pauses, for batches that are long. */
export function* layingFrames(
  batches: readonly WalBatch[],
  into: Uint8Array,
): Generator<undefined, number, undefined> {
  let at = 0;
  let sincePause = 0;
  for (const batch of batches) {
    assert(batch.rows > 0 && batch.byteLength <= FRAME_PAYLOAD_BYTES_MAX);
    assert(batch.byteLength % 8 === 0, "Arrow IPC messages are padded to 8 bytes");
    const keyBytes = keyBytesOf(batch);
    const summaryBytes = summaryBytesOf(batch);
    assert(summaryBytes % 8 === 0 && summaryBytes <= FRAME_SUMMARY_BYTES_MAX);
    const view = viewOf(into.subarray(at, at + FRAME_HEADER_BYTES));
    view.setUint32(0, batch.byteLength, true);
    view.setUint32(8, batch.rows, true);
    view.setUint16(12, keyBytes, true);
    view.setUint16(FRAME_FLAGS_OFFSET, summaryBytes, true);
    view.setBigInt64(16, batch.timestampNsMin, true);
    view.setBigInt64(24, batch.timestampNsMax, true);
    if (batch.key !== undefined) encodeFrameKey(batch.key, into, at + FRAME_HEADER_BYTES);
    const summaryAt = at + FRAME_HEADER_BYTES + keyBytes;
    if (batch.summary !== undefined) into.set(batch.summary, summaryAt);
    let end = summaryAt + summaryBytes;
    for (const piece of batch.pieces) {
      for (let from = 0; from < piece.byteLength; from += LAID_AT_ONCE) {
        const part = piece.byteLength <= LAID_AT_ONCE
          ? piece
          : piece.subarray(from, from + LAID_AT_ONCE);
        into.set(part, end);
        end += part.byteLength;
        sincePause += part.byteLength;
        if (sincePause < LAID_AT_ONCE) continue;
        sincePause = 0;
        yield;
      }
    }
    assert(end === at + frameLengthMax(batch), "pieces of a batch do not add up to its byteLength");
    at = end;
  }
  return at;
}

/**
 * Finishes the frames that `layFrames` laid into the first `length` of `bytes`: packs the messages
 * that become much shorter, closes the gaps, and sets the checksums. Returns the length of what is
 * to be written.
 */
export function finishFrames(
  bytes: Uint8Array,
  { length, frameSeed }: { readonly length: number; readonly frameSeed: number },
): number {
  let end = 0;
  for (let at = 0; at < length;) {
    const header = present(decodeFrameHeader(bytes.subarray(at, length)), "a frame that was laid");
    const payloadAt = at + payloadOffsetOf(header);
    const next = payloadAt + header.payloadBytes;
    const packedBytes = packMessage(bytes.subarray(payloadAt, next));
    const frame = bytes.subarray(at, packedBytes === undefined ? next : payloadAt + packedBytes);
    const view = viewOf(frame);
    if (packedBytes !== undefined) {
      view.setUint32(0, packedBytes, true);
      view.setUint16(FRAME_FLAGS_OFFSET, header.summaryBytes | FLAG_PACKED, true);
    }
    view.setUint32(FRAME_CRC_OFFSET, crcOfFrame(frame, frameSeed), true);
    if (end < at) bytes.set(frame, end);
    end += frame.byteLength;
    at = next;
  }
  return end;
}

/** The fields of a frame's first 32 bytes, or undefined when no frame can begin so. */
export function decodeFrameHeader(bytes: Uint8Array): FrameHeader | undefined {
  assert(bytes.byteLength >= FRAME_HEADER_BYTES);
  const view = viewOf(bytes);
  const payloadBytes = view.getUint32(0, true);
  const rows = view.getUint32(8, true);
  if (payloadBytes > FRAME_PAYLOAD_BYTES_MAX || payloadBytes % 8 !== 0) return undefined;
  const keyBytes = view.getUint16(12, true);
  const flags = view.getUint16(FRAME_FLAGS_OFFSET, true) & FLAGS;
  if (rows === 0 || (keyBytes !== 0 && keyBytes !== FRAME_KEY_BYTES)) return undefined;
  if (flags !== 0 && flags !== FLAG_PACKED) return undefined;
  return {
    payloadBytes,
    keyBytes,
    summaryBytes: view.getUint16(FRAME_FLAGS_OFFSET, true) - flags,
    isPacked: flags === FLAG_PACKED,
    crc: view.getUint32(FRAME_CRC_OFFSET, true),
    rows,
    timestampNsMin: view.getBigInt64(16, true),
    timestampNsMax: view.getBigInt64(24, true),
  };
}

/** Where the payload of a frame begins. */
function payloadOffsetOf(
  { keyBytes, summaryBytes }: Pick<FrameHeader, "keyBytes" | "summaryBytes">,
): number {
  return FRAME_HEADER_BYTES + keyBytes + summaryBytes;
}

/** Bytes of a whole frame. */
export function frameLengthOf(header: FrameHeader): number {
  return payloadOffsetOf(header) + header.payloadBytes;
}

/** The summary of an intact frame, if it has one: `frame_summary.ts`. */
export function summaryOfFrame(
  frame: Uint8Array,
  header: FrameHeader,
): Uint8Array | undefined {
  if (header.summaryBytes === 0) return undefined;
  return frame.subarray(FRAME_HEADER_BYTES + header.keyBytes, payloadOffsetOf(header));
}

/** Whether a frame may begin at `at`, of which 32 bytes are there: quick, for looking for one. */
export function mayBeginFrame(bytes: Uint8Array, at: number): boolean {
  const keyBytes = bytes[at + 12] as number;
  return (bytes[at] as number) % 8 === 0 && (bytes[at + 3] as number) <= FRAME_PAYLOAD_TOP &&
    (keyBytes === 0 || keyBytes === FRAME_KEY_BYTES) && bytes[at + 13] === 0 &&
    ((bytes[at + FRAME_FLAGS_OFFSET] as number) & FLAGS) <= FLAG_PACKED;
}

/** The idempotency key of an intact frame, if it has one. */
export function frameKeyOf(frame: Uint8Array, header: FrameHeader): FrameKey | undefined {
  return header.keyBytes === 0 ? undefined : decodeFrameKey(frame, FRAME_HEADER_BYTES);
}

/** Bytes of a frame that tell how long its message is. */
export function peekBytesOf(header: FrameHeader): number {
  return payloadOffsetOf(header) + PACKED_HEAD_BYTES;
}

/** Bytes of the message of a frame, of which the first `peekBytesOf` are there, or all. */
export function messageBytesOf(frame: Uint8Array, header: FrameHeader): number {
  if (!header.isPacked) return header.payloadBytes;
  return packedMessageBytes(frame.subarray(payloadOffsetOf(header))) ?? header.payloadBytes;
}

/**
 * The message of an intact frame: a part of it, or a buffer of its own. Undefined when it does not
 * unpack.
 */
export function messageOfFrame(frame: Uint8Array, header: FrameHeader): Uint8Array | undefined {
  const payload = frame.subarray(payloadOffsetOf(header));
  return header.isPacked ? unpackMessage(payload, FRAME_PAYLOAD_BYTES_MAX) : payload;
}

/** Whether `frame` is one that was written to the segment of `frameSeed`. */
export function frameIsIntact(frame: Uint8Array, header: FrameHeader, frameSeed: number): boolean {
  return crcOfFrame(frame, frameSeed) === header.crc;
}

function crcOfHeader(bytes: Uint8Array): number {
  return crc32(bytes.subarray(HEADER_CRC_OFFSET + 4), crc32(bytes.subarray(0, HEADER_CRC_OFFSET)));
}

function crcOfFrame(frame: Uint8Array, seed: number): number {
  return crc32(
    frame.subarray(FRAME_CRC_OFFSET + 4),
    crc32(frame.subarray(0, FRAME_CRC_OFFSET), seed),
  );
}

function corrupt(where: string, why: string): OperatingError {
  return new OperatingError("corrupt", `cannot read WAL segment ${where}: ${why}`, {
    reason: "wal_segment_corrupt",
  });
}
