/**
 * What one HTTP/2 connection can send to make a server work: each attack as frames, without end.
 * The names of CVEs are of attacks that took other servers down.
 *
 * An attacker sends `opening` once a connection and then round after round, reads and discards what
 * it is answered, and connects again when it is cut off. For tests and benchmarks only.
 */

import { concatBytes, utf8 } from "../base/bytes.ts";
import {
  Flag,
  frame,
  FrameType,
  Http2ErrorCode,
  PREFACE,
  Setting,
  settingsFrame,
  uint32s,
} from "../http2/frames.ts";
import { encodeFields } from "../http2/hpack.ts";

export interface Http2Attack {
  readonly name: string;
  /** Frames before the first round; those of the preface are before them. */
  readonly opening: () => Uint8Array;
  /** Frames of the round `turn`, from 0. */
  readonly round: (turn: number) => Uint8Array;
  /**
   * What the connection ends with; undefined when it is only slowed down: its calls are answered.
   */
  readonly ends: number | undefined;
}

/** Bytes of a round, about. */
const ROUND_BYTES = 64 * 1024;
/** Calls that are left open. */
const CALLS = 128;
const WHOLE = Flag.END_HEADERS | Flag.END_STREAM;
const NOTHING = new Uint8Array(0);
/** A stream id of a call that no attack opens. */
const FAR = 2 ** 30 + 1;
/** A message of 16 MiB begins. */
const MESSAGE_BEGINS = Uint8Array.of(0, 1, 0, 0, 0);

const FIELDS = encodeFields([
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/opentelemetry.proto.collector.logs.v1.LogsService/Export"],
  [":authority", "127.0.0.1"],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
]);

/** What begins every connection. */
export const GREETING = concatBytes([PREFACE, settingsFrame([])]);

const ping = frame(FrameType.PING, new Uint8Array(8));
const call = (stream: number, flags: number = Flag.END_HEADERS) =>
  frame(FrameType.HEADERS, FIELDS, { flags, stream });
const block = (bytes: Uint8Array, stream: number) =>
  frame(FrameType.HEADERS, bytes, { flags: WHOLE, stream });
const reset = (stream: number) => frame(FrameType.RST_STREAM, uint32s(8), { stream });
const grow = (stream: number, bytes = 1) =>
  frame(FrameType.WINDOW_UPDATE, uint32s(bytes), { stream });
const initialWindow = (bytes: number) => [Setting.INITIAL_WINDOW_SIZE, bytes] as const;
const data = (bytes: Uint8Array, { stream = 1, flags = 0 } = {}) =>
  frame(FrameType.DATA, bytes, { flags, stream });

/** The n-th stream id of a client. */
const nth = (n: number) => 2 * n + 1;
const none = () => NOTHING;

/** `frames` again and again. */
function same(...frames: readonly Uint8Array[]): () => Uint8Array {
  const once = concatBytes(frames);
  const round = concatBytes(Array(Math.ceil(ROUND_BYTES / once.byteLength)).fill(once));
  return () => round;
}

/** `frames` of one number after the other, going on in each round. */
function counting(frames: (n: number) => Uint8Array): (turn: number) => Uint8Array {
  const count = Math.ceil(ROUND_BYTES / frames(0).byteLength);
  return (turn) => concatBytes(Array.from({ length: count }, (_, i) => frames(turn * count + i)));
}

const openCalls = () => concatBytes(Array.from({ length: CALLS }, (_, n) => call(nth(n))));
/** An empty message, which is answered with one. */
const wholeMessage = (stream: number) =>
  data(new Uint8Array(5), { stream, flags: Flag.END_STREAM });
/** Calls whose answers wait: no stream has a window. */
const waitingAnswers = () =>
  concatBytes([
    settingsFrame([initialWindow(0)]),
    ...Array.from({ length: CALLS }, (_, n) => [call(nth(n)), wholeMessage(nth(n))]).flat(),
  ]);
/** A call whose message has begun, and is 16 MiB long. */
const openMessage = () => concatBytes([call(1), data(MESSAGE_BEGINS)]);
/** A call that was answered. */
const answeredCall = () => block(NOTHING, 1);

/** A literal that goes to the dynamic table: `x` and a value of 4,000 bytes. */
const LARGE_ENTRY = concatBytes([
  Uint8Array.of(0x40, 1, 0x78, 0x7f, ...[(4_000 - 127) % 128 | 128, (4_000 - 127) >> 7]),
  utf8("v".repeat(4_000)),
]);
/**
 * Literals without indexing, their values Huffman codes of zeros (`00000`), 16,000 bytes in all.
 */
const HUFFMAN_TEXTS = concatBytes([
  FIELDS,
  ...Array.from(
    { length: 120 },
    () => Uint8Array.of(0, 1, 0x78, 0x80 | 120, ...Array(120).fill(0)),
  ),
]);

/** The most fields that a block may have. */
const MANY_FIELDS = concatBytes([
  FIELDS,
  ...Array.from({ length: 900 }, (_, i) => Uint8Array.of(0, 1, 0x61 + i % 26, 0)),
]);

export const HTTP2_ATTACKS: readonly Http2Attack[] = [
  {
    name: "pings (CVE-2019-9512)",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: none,
    round: same(ping),
  },
  {
    name: "empty settings (CVE-2019-9515)",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: none,
    round: same(settingsFrame([])),
  },
  {
    name: "settings of 2,730 windows each, 128 calls",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openCalls,
    round: same(settingsFrame(Array.from({ length: 2_730 }, (_, i) => initialWindow(i)))),
  },
  {
    name: "settings that close and open the windows of 128 answers",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: waitingAnswers,
    round: same(settingsFrame([initialWindow(4)]), settingsFrame([initialWindow(0)])),
  },
  {
    name: "priorities (CVE-2019-9513)",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openCalls,
    round: same(frame(FrameType.PRIORITY, new Uint8Array(5), { stream: 1 })),
  },
  {
    name: "frames of an unknown type",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: none,
    round: same(frame(0x7f, NOTHING, { stream: 1 })),
  },
  {
    name: "the connection's window by 1, 128 calls",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openCalls,
    round: same(grow(0)),
  },
  {
    name: "the connection's window by 1, 128 answers wait",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: waitingAnswers,
    round: same(grow(0)),
  },
  {
    name: "a call's window by 1, 128 calls",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openCalls,
    round: same(grow(1)),
  },
  {
    name: "the window of an answered call",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: answeredCall,
    round: same(grow(1)),
  },
  {
    name: "a window by 0 (CVE-2025-8671)",
    ends: Http2ErrorCode.FLOW_CONTROL_ERROR,
    opening: openCalls,
    round: same(grow(1, 0)),
  },
  {
    name: "calls that are reset at once (CVE-2023-44487)",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: none,
    round: counting((n) => concatBytes([call(nth(n)), reset(nth(n))])),
  },
  {
    name: "calls past the bound",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openCalls,
    round: counting((n) => call(nth(CALLS + n))),
  },
  {
    name: "resets of an answered call",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: answeredCall,
    round: same(reset(1)),
  },
  {
    name: "resets of calls that never were",
    ends: Http2ErrorCode.PROTOCOL_ERROR,
    opening: none,
    round: same(reset(FAR)),
  },
  {
    name: "empty continuations (CVE-2024-27316)",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: () => call(1, 0),
    round: same(frame(FrameType.CONTINUATION, NOTHING, { stream: 1 })),
  },
  {
    name: "continuations of a byte",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: () => call(1, 0),
    round: same(frame(FrameType.CONTINUATION, Uint8Array.of(0x20), { stream: 1 })),
  },
  {
    name: "empty data (CVE-2019-9518)",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openMessage,
    round: same(data(NOTHING)),
  },
  {
    name: "data of a byte",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openMessage,
    round: same(data(Uint8Array.of(0))),
  },
  {
    name: "data of padding alone",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openMessage,
    round: same(data(Uint8Array.of(1, 0), { flags: Flag.PADDED })),
  },
  {
    name: "data of much padding",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openMessage,
    round: same(data(Uint8Array.of(255, ...Array(255).fill(0)), { flags: Flag.PADDED })),
  },
  {
    name: "data of an answered call",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: answeredCall,
    round: same(data(Uint8Array.of(0))),
  },
  {
    name: "headers of an answered call",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: answeredCall,
    round: same(block(FIELDS, 1)),
  },
  {
    name: "calls without fields",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: none,
    round: counting((n) => block(NOTHING, nth(n))),
  },
  {
    name: "calls that are answered at once",
    ends: undefined,
    opening: none,
    round: counting((n) => call(nth(n), WHOLE)),
  },
  {
    name: "header blocks of Huffman codes",
    ends: undefined,
    opening: none,
    round: counting((n) => block(HUFFMAN_TEXTS, nth(n))),
  },
  {
    name: "header blocks of 900 fields",
    ends: undefined,
    opening: none,
    round: counting((n) => block(MANY_FIELDS, nth(n))),
  },
  {
    name: "header blocks of table sizes",
    ends: Http2ErrorCode.COMPRESSION_ERROR,
    opening: none,
    round: counting((n) => block(new Uint8Array(16_000).fill(0x20), nth(n))),
  },
  {
    name: "header blocks of one large entry (CVE-2016-6581)",
    ends: undefined,
    opening: () => block(concatBytes([FIELDS, LARGE_ENTRY]), 1),
    round: counting((n) =>
      block(concatBytes([FIELDS, Uint8Array.of(...Array(7).fill(0xbe))]), nth(n + 1))
    ),
  },
  {
    name: "goodbyes",
    ends: Http2ErrorCode.ENHANCE_YOUR_CALM,
    opening: openMessage,
    round: same(frame(FrameType.GOAWAY, uint32s(0, 0))),
  },
];
