/**
 * The part of FUSE's protocol (`linux/fuse.h`, version 7.31) that a file system of a few files
 * needs: one directory, whose files keep their sizes. A request is a head of 40 bytes and what its
 * opcode says; an answer a head of 16 bytes and a body. All integers are little-endian.
 */

export const Opcode = {
  LOOKUP: 1,
  FORGET: 2,
  GETATTR: 3,
  SETATTR: 4,
  OPEN: 14,
  READ: 15,
  WRITE: 16,
  STATFS: 17,
  RELEASE: 18,
  FSYNC: 20,
  FLUSH: 25,
  INIT: 26,
  OPENDIR: 27,
  RELEASEDIR: 29,
  INTERRUPT: 36,
  DESTROY: 38,
  BATCH_FORGET: 42,
} as const;

/** Errors of answers: the kernel's numbers, negated on the wire. */
export const Errno = { ENOENT: 2, EINTR: 4, EIO: 5, EAGAIN: 11, ENODEV: 19, ENOSYS: 38 } as const;

/** What `read` of the device needs at least beside the bytes of a write. */
const HEADS_BYTES = 4_096;
/** Bytes of one write request. The kernel asks for pages: 32 of 4 KiB without more words. */
const WRITE_BYTES_MAX = 128 * 1024;
export const REQUEST_BYTES_MAX = WRITE_BYTES_MAX + HEADS_BYTES;

const REQUEST_HEAD_BYTES = 40;
const ANSWER_HEAD_BYTES = 16;
const WRITE_HEAD_BYTES = 40;
const PROTOCOL = { major: 7, minor: 31 };
/** The node of the directory; files follow. */
export const ROOT_NODE = 1;

const DIRECTORY_MODE = 0o040_700;
const FILE_MODE = 0o100_600;
/** Past the kernel's page cache, so that a read sees what the disk has. */
const DIRECT_IO = 1;

export interface FuseRequest {
  readonly opcode: number;
  readonly unique: bigint;
  readonly node: number;
  readonly body: Uint8Array;
}

/** The request that `bytes` are; its body is a view of them. */
export function parseRequest(bytes: Uint8Array): FuseRequest {
  const view = viewOf(bytes);
  const length = view.getUint32(0, true);
  if (length !== bytes.byteLength || length < REQUEST_HEAD_BYTES) {
    throw new Error(`a request says ${length} bytes and has ${bytes.byteLength}`);
  }
  return {
    opcode: view.getUint32(4, true),
    unique: view.getBigUint64(8, true),
    node: Number(view.getBigUint64(16, true)),
    body: bytes.subarray(REQUEST_HEAD_BYTES),
  };
}

/** An answer with `body`, or with an error and none. */
export function answerOf(unique: bigint, result: Uint8Array | number): Uint8Array<ArrayBuffer> {
  const body = typeof result === "number" ? new Uint8Array() : result;
  const answer = new Uint8Array(ANSWER_HEAD_BYTES + body.byteLength);
  const view = viewOf(answer);
  view.setUint32(0, answer.byteLength, true);
  view.setInt32(4, typeof result === "number" ? -result : 0, true);
  view.setBigUint64(8, unique, true);
  answer.set(body, ANSWER_HEAD_BYTES);
  return answer;
}

/** The name that a LOOKUP asks for. */
export function nameOf({ body }: FuseRequest): string {
  return new TextDecoder().decode(body.subarray(0, body.indexOf(0)));
}

/** Where a READ begins, and how many bytes it wants. */
export function readRange({ body }: FuseRequest): { offset: number; bytes: number } {
  const view = viewOf(body);
  return { offset: Number(view.getBigUint64(8, true)), bytes: view.getUint32(16, true) };
}

/** Where a WRITE begins, and its bytes: a view of the request. */
export function writtenBytes(request: FuseRequest): { offset: number; bytes: Uint8Array } {
  const { offset, bytes } = readRange(request);
  return { offset, bytes: request.body.subarray(WRITE_HEAD_BYTES, WRITE_HEAD_BYTES + bytes) };
}

export function initBody(): Uint8Array {
  const body = new Uint8Array(64);
  const view = viewOf(body);
  view.setUint32(0, PROTOCOL.major, true);
  view.setUint32(4, PROTOCOL.minor, true);
  view.setUint32(20, WRITE_BYTES_MAX, true);
  view.setUint32(24, 1, true); // Times in nanoseconds.
  return body;
}

/** Attributes of a node: the directory without `sizeBytes`. */
export function attributesBody(node: number, sizeBytes?: number): Uint8Array {
  const body = new Uint8Array(16 + 88);
  body.set(attributes(node, sizeBytes), 16);
  return body;
}

export function entryBody(node: number, sizeBytes: number): Uint8Array {
  const body = new Uint8Array(40 + 88);
  viewOf(body).setBigUint64(0, BigInt(node), true);
  body.set(attributes(node, sizeBytes), 40);
  return body;
}

export function openBody(): Uint8Array {
  const body = new Uint8Array(16);
  viewOf(body).setUint32(8, DIRECT_IO, true);
  return body;
}

export function writeBody(bytes: number): Uint8Array {
  const body = new Uint8Array(8);
  viewOf(body).setUint32(0, bytes, true);
  return body;
}

function attributes(node: number, sizeBytes: number | undefined): Uint8Array {
  const attributes = new Uint8Array(88);
  const view = viewOf(attributes);
  view.setBigUint64(0, BigInt(node), true);
  view.setBigUint64(8, BigInt(sizeBytes ?? 0), true);
  view.setBigUint64(16, BigInt(Math.ceil((sizeBytes ?? 0) / 512)), true);
  view.setUint32(60, sizeBytes === undefined ? DIRECTORY_MODE : FILE_MODE, true);
  view.setUint32(64, 1, true);
  view.setUint32(80, 4_096, true);
  return attributes;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
