/**
 * The frame of an encapsulated Arrow IPC message:
 *
 *     u32 0xFFFFFFFF | i32 metadata length | metadata (a flatbuffer `Message`) | body
 *
 * Metadata is padded so that the body starts at a multiple of 8; all integers are little-endian.
 */

import { concatBytes, viewOf } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import { FlatTable } from "./flatbuffer.ts";

export const CONTINUATION = 0xffffffff;
/** Bytes before the metadata. */
export const PREFIX_BYTES = 8;

/** Slots of the table `Message` of Message.fbs. */
export const MESSAGE = { version: 0, headerType: 1, header: 2, bodyLength: 3 } as const;
/** Members of the union `MessageHeader`. */
export const HEADER_SCHEMA = 1;
export const HEADER_RECORD_BATCH = 3;
const METADATA_V4 = 3;
export const METADATA_V5 = 4;

export interface ReadMessage {
  readonly header: FlatTable;
  /** Exactly the bytes that the metadata announces. */
  readonly body: Uint8Array;
}

/** A message without body around `metadata`, whose length is a multiple of 8. */
export function frameMetadata(metadata: Uint8Array): Uint8Array {
  const prefix = new DataView(new ArrayBuffer(PREFIX_BYTES));
  prefix.setUint32(0, CONTINUATION, true);
  prefix.setInt32(4, metadata.byteLength, true);
  return concatBytes([new Uint8Array(prefix.buffer), metadata]);
}

/** Bytes of the body that a message's metadata announces. */
export function bodyBytesOf(metadata: Uint8Array): number {
  return FlatTable.root(metadata).count(MESSAGE.bodyLength);
}

/** Opens a message whose header must be of `headerType`; throws `corrupt` for anything else. */
export function readMessage(message: Uint8Array, headerType: number): ReadMessage {
  if (message.byteLength < PREFIX_BYTES) {
    throw corrupt(`${message.byteLength} bytes are too short`);
  }
  const view = viewOf(message);
  if (view.getUint32(0, true) !== CONTINUATION) throw corrupt("it has no continuation marker");
  const metadataBytes = view.getInt32(4, true);
  const bodyAt = PREFIX_BYTES + metadataBytes;
  if (metadataBytes <= 0 || bodyAt > message.byteLength) {
    throw corrupt(`metadata of ${metadataBytes} bytes in a message of ${message.byteLength}`);
  }
  const root = FlatTable.root(message.subarray(PREFIX_BYTES, bodyAt));
  const version = root.int16(MESSAGE.version, 0);
  if (version !== METADATA_V4 && version !== METADATA_V5) {
    throw corrupt(`metadata version ${version} is not V4 or V5`);
  }
  const found = root.uint8(MESSAGE.headerType, 0);
  const header = root.table(MESSAGE.header);
  if (found !== headerType || header === undefined) {
    throw corrupt(`its header type is ${found}, not ${headerType}`);
  }
  const bodyBytes = root.count(MESSAGE.bodyLength);
  if (bodyAt + bodyBytes > message.byteLength) {
    throw corrupt(`a body of ${bodyBytes} bytes in a message of ${message.byteLength}`);
  }
  return { header, body: message.subarray(bodyAt, bodyAt + bodyBytes) };
}

function corrupt(what: string): OperatingError {
  return new OperatingError("corrupt", `Cannot read an Arrow message: ${what}`);
}
