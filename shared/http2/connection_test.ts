/** A connection frame by frame: what peers may do, and that those who break the rules lose only it. */

import assert from "node:assert/strict";
import { concatBytes } from "../base/bytes.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { Http2Connection, type Http2Handler } from "./connection.ts";
import {
  ErrorCode,
  Flag,
  frame,
  FrameType,
  HEAD_BYTES,
  PREFACE,
  readHead,
  readUint31,
  settingsFrame,
  uint32s,
} from "./frames.ts";
import { encodeFields, HpackDecoder } from "./hpack.ts";
import { HTTP2_LIMITS } from "./limits.ts";
import type { ByteConnection } from "./outbox.ts";

/** A connection in memory: the test is the peer. */
class Wire implements ByteConnection {
  closed = false;
  readonly written: Uint8Array[] = [];
  #incoming: Uint8Array[] = [];
  #wake: (() => void) | undefined;

  send(...parts: Uint8Array[]): void {
    this.#incoming.push(...parts);
    this.#wake?.();
  }

  async read(into: Uint8Array): Promise<number | null> {
    while (this.#incoming.length === 0) {
      if (this.closed) return null;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const next = this.#incoming[0] ?? new Uint8Array(0);
    const count = Math.min(next.byteLength, into.byteLength);
    into.set(next.subarray(0, count));
    if (count === next.byteLength) this.#incoming.shift();
    else this.#incoming[0] = next.subarray(count);
    return count;
  }

  write(bytes: Uint8Array): Promise<number> {
    this.written.push(bytes.slice());
    return Promise.resolve(bytes.byteLength);
  }

  close(): void {
    this.closed = true;
    this.#wake?.();
  }

  /** What was sent so far, frame by frame. */
  frames() {
    const bytes = concatBytes(this.written);
    const frames = [];
    for (let at = 0; at < bytes.byteLength;) {
      const head = readHead(bytes, at);
      const end = at + HEAD_BYTES + head.payloadBytes;
      frames.push({ ...head, payload: bytes.subarray(at + HEAD_BYTES, end) });
      at = end;
    }
    return frames;
  }

  /** The code of the GOAWAY that ended it; undefined without one. */
  goneAway(): number | undefined {
    const last = this.frames().findLast((one) => one.type === FrameType.GOAWAY);
    return last && readUint31(last.payload, 4);
  }
}

interface Peer {
  readonly wire: Wire;
  readonly connection: Http2Connection;
  readonly done: Promise<void>;
  readonly bodies: string[];
  nowMs: number;
}

const ANSWER = { fields: [[":status", "200"], ["x", "y"]] as const };

/** A connection whose handler reads the body and answers; past the preface unless told otherwise. */
function connect(options: { handler?: Http2Handler; greeted?: boolean } = {}): Peer {
  const wire = new Wire();
  const bodies: string[] = [];
  const handler: Http2Handler = options.handler ?? (async (call) => {
    let text = "";
    try {
      await call.receive((part) => text += new TextDecoder().decode(part));
      bodies.push(`${call.headers.get(":path")} ${text}`);
    } catch {
      bodies.push(`${call.headers.get(":path")} gone`);
    }
    return ANSWER;
  });
  const peer = { wire, bodies, nowMs: 0 };
  const connection = new Http2Connection(wire, {
    peer: "192.0.2.1",
    handler,
    nowMs: () => peer.nowMs,
  });
  if (options.greeted !== false) wire.send(PREFACE, settingsFrame([]));
  return Object.assign(peer, { connection, done: connection.run() });
}

function requestFields(path: string): Uint8Array {
  return encodeFields([[":method", "POST"], [":path", path]]);
}

function headers(stream: number, flags: number = Flag.END_HEADERS, path = `/${stream}`) {
  return frame(FrameType.HEADERS, requestFields(path), { flags, stream });
}

function data(stream: number, text: string, flags = 0) {
  return frame(FrameType.DATA, new TextEncoder().encode(text), { flags, stream });
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
const WHOLE = Flag.END_HEADERS | Flag.END_STREAM;

Deno.test({
  name: "Http2Connection takes a request in any pieces, padded, with continuations and trailers",
  fn: async () => {
    const fields = requestFields("/1");
    const padded = (payload: Uint8Array) =>
      concatBytes([Uint8Array.of(3), payload, new Uint8Array(3)]);
    const request = concatBytes([
      frame(
        FrameType.HEADERS,
        padded(concatBytes([uint32s(0), Uint8Array.of(16), fields.subarray(0, 4)])),
        { flags: Flag.PADDED | Flag.PRIORITY, stream: 1 },
      ),
      frame(FrameType.CONTINUATION, fields.subarray(4, 5), { stream: 1 }),
      frame(FrameType.CONTINUATION, fields.subarray(5), { flags: Flag.END_HEADERS, stream: 1 }),
      frame(FrameType.DATA, padded(new TextEncoder().encode("ab")), {
        flags: Flag.PADDED,
        stream: 1,
      }),
      frame(0x7f, new Uint8Array(5), { stream: 1 }),
      data(1, "cd"),
      frame(FrameType.HEADERS, encodeFields([["x-trailer", "1"]]), { flags: WHOLE, stream: 1 }),
    ]);
    for (const pieceBytes of [1, 7, request.byteLength]) {
      const peer = connect();
      for (let at = 0; at < request.byteLength; at += pieceBytes) {
        peer.wire.send(request.subarray(at, at + pieceBytes));
      }
      await settle();
      assert.deepEqual(peer.bodies, ["/1 abcd"]);
      const answer = peer.wire.frames().find((one) => one.type === FrameType.HEADERS);
      assert.equal(answer?.flags, WHOLE);
      const decoded = new HpackDecoder(1_000).decode(answer?.payload ?? new Uint8Array(0));
      assert.deepEqual(decoded, ANSWER.fields);
      peer.connection.close();
      await peer.done;
    }
  },
});

Deno.test({
  name: "Http2Connection answers pings and settings, and ends in order when its peer goes away",
  fn: async () => {
    const peer = connect();
    peer.wire.send(
      frame(FrameType.PING, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)),
      headers(1),
      frame(FrameType.GOAWAY, uint32s(0, 0)),
    );
    await settle();
    const ping = peer.wire.frames().find((one) => one.type === FrameType.PING);
    assert.deepEqual([ping?.flags, ...ping?.payload ?? []], [Flag.ACK, 1, 2, 3, 4, 5, 6, 7, 8]);
    const settings = peer.wire.frames().filter((one) => one.type === FrameType.SETTINGS);
    assert.deepEqual(settings.map((one) => one.flags), [0, Flag.ACK]);
    assert.equal(peer.wire.closed, false, "a call is under way");
    peer.wire.send(data(1, "end", Flag.END_STREAM));
    await peer.done;
    assert.deepEqual(peer.bodies, ["/1 end"]);
    assert.ok(peer.wire.closed);
  },
});

Deno.test({
  name: "Http2Connection lives through resets at any time, and through what comes after an answer",
  fn: async () => {
    const peer = connect();
    const reset = (stream: number) => frame(FrameType.RST_STREAM, uint32s(8), { stream });
    peer.wire.send(headers(1), data(1, "x"), reset(1), data(1, "late"), reset(1));
    peer.wire.send(headers(3, WHOLE));
    await settle();
    peer.wire.send(data(3, "after the answer"), reset(3), headers(5, WHOLE));
    await settle();
    assert.deepEqual(peer.bodies, ["/1 gone", "/3 ", "/5 "]);
    peer.wire.send(headers(7), reset(7), frame(FrameType.GOAWAY, uint32s(0, 0)));
    await peer.done;
    assert.equal(peer.wire.goneAway(), ErrorCode.NO_ERROR);
  },
});

Deno.test({
  name: "Http2Connection refuses calls past its bound and takes one when another is done",
  fn: async () => {
    const { streamsMax } = HTTP2_LIMITS;
    const peer = connect();
    for (let i = 0; i <= streamsMax; i++) peer.wire.send(headers(2 * i + 1));
    await settle();
    const resets = peer.wire.frames().filter((one) => one.type === FrameType.RST_STREAM);
    assert.deepEqual(
      resets.map((one) => [one.stream, readUint31(one.payload, 0)]),
      [[2 * streamsMax + 1, ErrorCode.REFUSED_STREAM]],
    );
    peer.wire.send(data(1, "", Flag.END_STREAM));
    await settle();
    peer.wire.send(headers(2 * streamsMax + 3, WHOLE));
    await settle();
    assert.deepEqual(peer.bodies, ["/1 ", `/${2 * streamsMax + 3} `]);
    peer.connection.close();
    await peer.done;
  },
});

Deno.test({
  name: "Http2Connection gives room in both windows for what was read, and for nothing else",
  fn: async () => {
    const start = Promise.withResolvers<void>();
    const peer = connect({
      handler: async (call) => {
        await start.promise;
        await call.receive(() => {});
        return ANSWER;
      },
    });
    const part = "x".repeat(16_384);
    const parts = HTTP2_LIMITS.streamWindowBytes / 16_384;
    peer.wire.send(headers(1), ...Array.from({ length: parts }, () => data(1, part)));
    await settle();
    const credits = (stream: number) =>
      peer.wire.frames()
        .filter((one) => one.type === FrameType.WINDOW_UPDATE && one.stream === stream)
        .reduce((sum, one) => sum + readUint31(one.payload, 0), 0);
    assert.equal(credits(1), 0, "nobody has read it");
    start.resolve();
    await settle();
    assert.equal(credits(1), HTTP2_LIMITS.streamWindowBytes);
    for (let round = 0; round < 8; round++) {
      peer.wire.send(...Array.from({ length: parts / 2 }, () => data(1, part)));
      await settle();
    }
    assert.equal(peer.wire.goneAway(), undefined);
    assert.ok(credits(0) > HTTP2_LIMITS.streamWindowBytes);
    peer.connection.close();
    await peer.done;
  },
});

Deno.test({
  name: "Http2Connection gives room back for what came with calls that were answered unread",
  fn: async () => {
    const peer = connect({ handler: () => settle().then(() => ANSWER) });
    const calls = 12;
    const bytes = 8 * 16_384;
    assert.ok(calls * bytes > HTTP2_LIMITS.connectionWindowBytes);
    for (let i = 0; i < calls; i++) {
      const parts = Array.from({ length: 8 }, () => data(2 * i + 1, "x".repeat(16_384)));
      peer.wire.send(headers(2 * i + 1), ...parts);
      await settle();
      await settle();
    }
    assert.equal(peer.wire.goneAway(), undefined);
    const answers = peer.wire.frames().filter((one) => one.type === FrameType.HEADERS);
    assert.equal(answers.length, calls);
    peer.connection.close();
    await peer.done;
  },
});

Deno.test({
  name: "Http2Connection keeps an answer until the peer's windows have room for it",
  fn: async () => {
    const body = new Uint8Array(5);
    const trailers = [["grpc-status", "0"]] as const;
    const peer = connect({
      greeted: false,
      handler: () => Promise.resolve({ ...ANSWER, body, trailers }),
    });
    peer.wire.send(PREFACE, settingsFrame([[4, 4]]), headers(1, WHOLE));
    await settle();
    const answered = () =>
      peer.wire.frames().filter((one) => one.stream === 1).map((one) => [one.type, one.flags]);
    assert.deepEqual(answered(), []);
    peer.wire.send(frame(FrameType.WINDOW_UPDATE, uint32s(1), { stream: 1 }));
    await settle();
    assert.deepEqual(answered(), [
      [FrameType.HEADERS, Flag.END_HEADERS],
      [FrameType.DATA, 0],
      [FrameType.HEADERS, WHOLE],
    ]);
    peer.connection.close();
    await peer.done;
  },
});

/** RFC 9113; the limits are ours. */
const BREACHES: { name: string; sent: () => Uint8Array[]; code: number; greeted?: false }[] = [
  {
    name: "HTTP/1.1",
    greeted: false,
    sent: () => [new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n")],
    code: ErrorCode.PROTOCOL_ERROR,
  },
  {
    name: "a frame over its size",
    sent: () => [frame(FrameType.DATA, new Uint8Array(16_385), { stream: 1 })],
    code: ErrorCode.FRAME_SIZE_ERROR,
  },
  { name: "data of no call", sent: () => [data(1, "x")], code: ErrorCode.PROTOCOL_ERROR },
  { name: "a call with an even id", sent: () => [headers(2)], code: ErrorCode.PROTOCOL_ERROR },
  {
    name: "data behind the end",
    sent: () => [headers(1), data(1, "x", Flag.END_STREAM), data(1, "y")],
    code: ErrorCode.STREAM_CLOSED,
  },
  {
    name: "padding beyond the frame",
    sent: () => [
      headers(1),
      frame(FrameType.DATA, Uint8Array.of(9, 1), { flags: Flag.PADDED, stream: 1 }),
    ],
    code: ErrorCode.PROTOCOL_ERROR,
  },
  {
    name: "a frame between the parts of a header block",
    sent: () => [headers(1, 0), frame(FrameType.PING, new Uint8Array(8))],
    code: ErrorCode.PROTOCOL_ERROR,
  },
  {
    name: "a continuation of nothing",
    sent: () => [frame(FrameType.CONTINUATION, new Uint8Array(0), { stream: 1 })],
    code: ErrorCode.PROTOCOL_ERROR,
  },
  {
    name: "a header block without end",
    sent: () => [
      headers(1, 0),
      ...Array.from(
        { length: 3 },
        () => frame(FrameType.CONTINUATION, new Uint8Array(16_000), { stream: 1 }),
      ),
    ],
    code: ErrorCode.ENHANCE_YOUR_CALM,
  },
  {
    name: "empty continuations without end",
    sent: () => [
      headers(1, 0),
      ...Array.from(
        { length: HTTP2_LIMITS.idleFramesMax + 1 },
        () => frame(FrameType.CONTINUATION, new Uint8Array(0), { stream: 1 }),
      ),
    ],
    code: ErrorCode.ENHANCE_YOUR_CALM,
  },
  {
    name: "a broken header block",
    sent: () => [
      frame(FrameType.HEADERS, Uint8Array.of(0x80), { flags: WHOLE, stream: 1 }),
    ],
    code: ErrorCode.COMPRESSION_ERROR,
  },
  {
    name: "data beyond the window",
    sent: () => [
      headers(1),
      ...Array.from({ length: 17 }, () => data(1, "x".repeat(16_384))),
    ],
    code: ErrorCode.FLOW_CONTROL_ERROR,
  },
  {
    name: "a window that is too large",
    sent: () => [frame(FrameType.WINDOW_UPDATE, uint32s(2 ** 31 - 1))],
    code: ErrorCode.FLOW_CONTROL_ERROR,
  },
  {
    name: "a push",
    sent: () => [frame(FrameType.PUSH_PROMISE, new Uint8Array(8), { stream: 1 })],
    code: ErrorCode.PROTOCOL_ERROR,
  },
  {
    name: "a ping of another size",
    sent: () => [frame(FrameType.PING, new Uint8Array(7))],
    code: ErrorCode.FRAME_SIZE_ERROR,
  },
  {
    name: "pings without end",
    sent: () =>
      Array.from(
        { length: HTTP2_LIMITS.idleFramesMax + 1 },
        () => frame(FrameType.PING, new Uint8Array(8)),
      ),
    code: ErrorCode.ENHANCE_YOUR_CALM,
  },
  {
    name: "calls that are reset without end",
    sent: () =>
      Array.from({ length: HTTP2_LIMITS.idleFramesMax + 1 }, (_, i) => [
        headers(2 * i + 1),
        frame(FrameType.RST_STREAM, uint32s(8), { stream: 2 * i + 1 }),
      ]).flat(),
    code: ErrorCode.ENHANCE_YOUR_CALM,
  },
];

for (const { name, sent, code, greeted } of BREACHES) {
  Deno.test({
    name: `Http2Connection ends with code ${code} on ${name}`,
    fn: async () => {
      const handler: Http2Handler = async (call) => {
        await call.receive(() => {}).catch(() => {});
        return await new Promise((resolve) =>
          call.gone.addEventListener("abort", () => resolve(ANSWER))
        );
      };
      const paused: Http2Handler = (call) =>
        new Promise((resolve) => call.gone.addEventListener("abort", () => resolve(ANSWER)));
      const peer = connect({
        handler: code === ErrorCode.FLOW_CONTROL_ERROR ? paused : handler,
        ...(greeted === undefined ? {} : { greeted }),
      });
      peer.wire.send(concatBytes(sent()));
      await peer.done;
      assert.equal(peer.wire.goneAway(), code);
      assert.ok(peer.wire.closed);
    },
  });
}

Deno.test({
  name: "Http2Connection ends without a preface in time, when idle, and when silent after a ping",
  fn: async () => {
    const sweepAt = (peer: Peer, ms: number) => {
      peer.nowMs = ms;
      peer.connection.sweep();
    };
    const mute = connect({ greeted: false });
    sweepAt(mute, HTTP2_LIMITS.prefaceMsMax + 1);
    await mute.done;
    const silent = connect();
    silent.wire.send(headers(1));
    await settle();
    sweepAt(silent, HTTP2_LIMITS.pingAfterMs);
    await settle();
    assert.ok(silent.wire.frames().some((one) => one.type === FrameType.PING));
    assert.equal(silent.wire.closed, false);
    sweepAt(silent, HTTP2_LIMITS.pingAfterMs + HTTP2_LIMITS.pingAnswerMsMax + 1);
    await silent.done;
    assert.deepEqual(silent.bodies, ["/1 gone"]);
    const idle = connect();
    await settle();
    sweepAt(idle, HTTP2_LIMITS.idleMsMax + 1);
    await idle.done;
    assert.equal(idle.wire.goneAway(), ErrorCode.NO_ERROR);
  },
});

Deno.test({
  name: "Http2Connection ends when its peer does not read",
  fn: async () => {
    const peer = connect();
    peer.wire.write = () => new Promise(() => {});
    const ping = frame(FrameType.PING, new Uint8Array(8));
    while (!peer.wire.closed) {
      peer.wire.send(...Array.from({ length: 4_000 }, () => ping));
      await settle();
      peer.connection.sweep();
    }
    await peer.done;
  },
});

Deno.test({
  name: "Http2Connection survives damaged and random frames: it ends or goes on, by the rules",
  fn: async () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = new SeededRandom(seed);
      const below = (bound: number) => random.below(bound);
      const peer = connect();
      const good = [headers(1), data(1, "abc"), data(1, "d", Flag.END_STREAM), headers(3, WHOLE)];
      const sent = concatBytes([
        ...good,
        ...Array.from({ length: 20 }, () => {
          const payload = Uint8Array.from({ length: below(40) }, () => below(256));
          return frame(below(11), payload, { flags: below(64), stream: below(8) });
        }),
      ]);
      for (let i = 0; i < below(4); i++) sent[below(sent.byteLength)] = below(256);
      for (let at = 0; at < sent.byteLength;) {
        const end = at + 1 + below(200);
        peer.wire.send(sent.slice(at, end));
        at = end;
      }
      await settle();
      peer.connection.close();
      await peer.done;
      assert.notEqual(peer.wire.goneAway(), ErrorCode.INTERNAL_ERROR, `seed ${seed}`);
    }
  },
});
