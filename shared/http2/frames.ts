/** Frames of HTTP/2 and what makes them wrong: RFC 9113, sections 4, 6 and 7. */

export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const Flag = {
  /** A flag of SETTINGS and PING. */
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;

export const Setting = {
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

export const Http2ErrorCode = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  ENHANCE_YOUR_CALM: 11,
} as const;

/** Breaks the rules in a way that ends the connection. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  /** One of `Http2ErrorCode`, told to the peer in GOAWAY. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** A connection that does not begin as HTTP/2; `firstBytes` is how it does. */
export class NoHttp2 extends ConnectionError {
  readonly firstBytes: Uint8Array;

  constructor(firstBytes: Uint8Array) {
    super(Http2ErrorCode.PROTOCOL_ERROR, "it does not begin as HTTP/2");
    this.firstBytes = firstBytes;
  }
}

export const PREFACE = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
export const HEAD_BYTES = 9;
/** The largest payload that both ends take unless told otherwise; ours stays there. */
export const PAYLOAD_BYTES_MAX = 16_384;
/** Where every flow-control window starts unless told otherwise. */
export const WINDOW_BYTES_DEFAULT = 65_535;
export const WINDOW_BYTES_MAX = 2 ** 31 - 1;

export interface FrameHead {
  readonly payloadBytes: number;
  readonly type: number;
  readonly flags: number;
  /** 0 is the connection. */
  readonly stream: number;
}

/** The head of the frame that begins at `at`; `HEAD_BYTES` must be there. */
export function readHead(bytes: Uint8Array, at: number): FrameHead {
  return {
    payloadBytes: byteAt(bytes, at) << 16 | byteAt(bytes, at + 1) << 8 | byteAt(bytes, at + 2),
    type: byteAt(bytes, at + 3),
    flags: byteAt(bytes, at + 4),
    stream: readUint31(bytes, at + 5),
  };
}

/** Four bytes without their highest bit, which is reserved wherever such a number stands. */
export function readUint31(bytes: Uint8Array, at: number): number {
  return (byteAt(bytes, at) & 0x7f) << 24 | byteAt(bytes, at + 1) << 16 |
    byteAt(bytes, at + 2) << 8 | byteAt(bytes, at + 3);
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

export interface FrameFields {
  readonly flags?: number;
  readonly stream?: number;
}

/** One frame: head and payload, in a buffer of its own. */
export function frame(
  type: number,
  payload: Uint8Array,
  { flags = 0, stream = 0 }: FrameFields = {},
): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES + payload.byteLength);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, payload.byteLength << 8 | type);
  view.setUint8(4, flags);
  view.setUint32(5, stream);
  bytes.set(payload, HEAD_BYTES);
  return bytes;
}

/** Numbers of four bytes each. */
export function uint32s(...values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  values.forEach((value, at) => view.setUint32(4 * at, value));
  return bytes;
}

/** A SETTINGS frame. */
export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]) {
  const payload = new Uint8Array(6 * settings.length);
  const view = new DataView(payload.buffer);
  for (const [at, [id, value]] of settings.entries()) {
    view.setUint16(6 * at, id);
    view.setUint32(6 * at + 2, value);
  }
  return frame(FrameType.SETTINGS, payload);
}

/** The payload of DATA or HEADERS without padding and priority. Errors: `ConnectionError`. */
export function contentOf({ type, flags }: FrameHead, payload: Uint8Array): Uint8Array {
  let start = 0;
  let padding = 0;
  if ((flags & Flag.PADDED) !== 0) {
    padding = payload[0] ?? 0;
    start = 1;
  }
  if (type === FrameType.HEADERS && (flags & Flag.PRIORITY) !== 0) start += 5;
  if (start + padding > payload.byteLength) {
    throw new ConnectionError(Http2ErrorCode.PROTOCOL_ERROR, "a frame is padded beyond its end");
  }
  return payload.subarray(start, payload.byteLength - padding);
}
