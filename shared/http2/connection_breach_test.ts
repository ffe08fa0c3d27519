/**
 * Peers that break the rules or the limits, or go silent: they lose their connection and no more.
 */

import assert from "node:assert/strict";
import { concatBytes, utf8 } from "../base/bytes.ts";
import {
  ANSWER,
  AT_ONCE,
  connect,
  data,
  headers,
  type Peer,
  settle,
  WHOLE,
} from "../testing/http2_peer.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { until } from "../testing/until.ts";
import { Http2Connection, type Http2Handler } from "./connection.ts";
import { Flag, frame, FrameType, Http2ErrorCode, uint32s } from "./frames.ts";
import { HTTP2_LIMITS } from "./limits.ts";

/** RFC 9113; the limits are ours. */
const BREACHES: { name: string; sent: () => Uint8Array[]; code: number; greeted?: false }[] = [
  {
    name: "a frame over its size",
    sent: () => [frame(FrameType.DATA, new Uint8Array(16_385), { stream: 1 })],
    code: Http2ErrorCode.FRAME_SIZE_ERROR,
  },
  { name: "data of no call", sent: () => [data(1, "x")], code: Http2ErrorCode.PROTOCOL_ERROR },
  { name: "a call with an even id", sent: () => [headers(2)], code: Http2ErrorCode.PROTOCOL_ERROR },
  {
    name: "data behind the end",
    sent: () => [headers(1), data(1, "x", Flag.END_STREAM), data(1, "y")],
    code: Http2ErrorCode.STREAM_CLOSED,
  },
  {
    name: "padding beyond the frame",
    sent: () => [
      headers(1),
      frame(FrameType.DATA, Uint8Array.of(9, 1), { flags: Flag.PADDED, stream: 1 }),
    ],
    code: Http2ErrorCode.PROTOCOL_ERROR,
  },
  {
    name: "a frame between the parts of a header block",
    sent: () => [headers(1, 0), frame(FrameType.PING, new Uint8Array(8))],
    code: Http2ErrorCode.PROTOCOL_ERROR,
  },
  {
    name: "a continuation of nothing",
    sent: () => [frame(FrameType.CONTINUATION, new Uint8Array(0), { stream: 1 })],
    code: Http2ErrorCode.PROTOCOL_ERROR,
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
    code: Http2ErrorCode.ENHANCE_YOUR_CALM,
  },
  {
    name: "empty continuations without end",
    sent: () => [
      headers(1, 0),
      ...Array.from(
        { length: HTTP2_LIMITS.wasteMax + 1 },
        () => frame(FrameType.CONTINUATION, new Uint8Array(0), { stream: 1 }),
      ),
    ],
    code: Http2ErrorCode.ENHANCE_YOUR_CALM,
  },
  {
    name: "a broken header block",
    sent: () => [
      frame(FrameType.HEADERS, Uint8Array.of(0x80), { flags: WHOLE, stream: 1 }),
    ],
    code: Http2ErrorCode.COMPRESSION_ERROR,
  },
  {
    name: "data beyond the window",
    sent: () => [
      headers(1),
      ...Array.from({ length: 17 }, () => data(1, "x".repeat(16_384))),
    ],
    code: Http2ErrorCode.FLOW_CONTROL_ERROR,
  },
  {
    name: "a window that is too large",
    sent: () => [frame(FrameType.WINDOW_UPDATE, uint32s(2 ** 31 - 1))],
    code: Http2ErrorCode.FLOW_CONTROL_ERROR,
  },
  {
    name: "a push",
    sent: () => [frame(FrameType.PUSH_PROMISE, new Uint8Array(8), { stream: 1 })],
    code: Http2ErrorCode.PROTOCOL_ERROR,
  },
  {
    name: "a ping of another size",
    sent: () => [frame(FrameType.PING, new Uint8Array(7))],
    code: Http2ErrorCode.FRAME_SIZE_ERROR,
  },
  {
    name: "pings without end",
    sent: () =>
      Array.from(
        { length: HTTP2_LIMITS.wasteMax + 1 },
        () => frame(FrameType.PING, new Uint8Array(8)),
      ),
    code: Http2ErrorCode.ENHANCE_YOUR_CALM,
  },
  {
    name: "calls that are reset without end",
    sent: () =>
      Array.from({ length: HTTP2_LIMITS.wasteMax + 1 }, (_, i) => [
        headers(2 * i + 1),
        frame(FrameType.RST_STREAM, uint32s(8), { stream: 2 * i + 1 }),
      ]).flat(),
    code: Http2ErrorCode.ENHANCE_YOUR_CALM,
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
        handler: code === Http2ErrorCode.FLOW_CONTROL_ERROR ? paused : handler,
        ...(greeted === undefined ? {} : { greeted }),
      });
      peer.wire.send(concatBytes(sent()));
      await until(() => peer.wire.goneAway() !== undefined);
      await settle();
      assert.equal(peer.wire.goneAway(), code);
      assert.equal(peer.wire.closed, false, "it keeps its place");
      const { bytesRead } = peer.wire;
      peer.wire.send(frame(FrameType.PING, new Uint8Array(8)));
      peer.connection.sweep();
      await peer.done;
      assert.equal(peer.wire.bytesRead, bytesRead, "what came behind is not read");
      assert.ok(peer.wire.closed);
    },
  });
}

Deno.test({
  name: "Http2Connection gives up the place of a peer that broke a rule when the server stops",
  fn: async () => {
    const pending: Http2Handler = () => new Promise(() => {});
    for (const before of [[], [headers(1), frame(FrameType.GOAWAY, new Uint8Array(8))]]) {
      const peer = connect({ handler: pending });
      peer.wire.send(concatBytes([...before, frame(FrameType.PING, new Uint8Array(3))]));
      await until(() => peer.wire.goneAway() === Http2ErrorCode.FRAME_SIZE_ERROR);
      await settle();
      assert.equal(peer.wire.closed, false, "it keeps its place");
      peer.connection.drain();
      await settle();
      assert.ok(peer.wire.closed);
      await peer.done;
    }
  },
});

const PINGS = Array.from(
  { length: HTTP2_LIMITS.wasteForgotten + 1 },
  () => frame(FrameType.PING, new Uint8Array(8)),
);
const GOES_AWAY = frame(FrameType.GOAWAY, new Uint8Array(8));

for (
  const { name, sent, hangsUp, keeps } of [
    { name: "hangs up after much waste", sent: PINGS, hangsUp: true, keeps: true },
    { name: "goes away after much waste", sent: [...PINGS, GOES_AWAY], keeps: true },
    { name: "hangs up after little", sent: PINGS.slice(0, 20), hangsUp: true, keeps: false },
    { name: "goes away after little", sent: [...PINGS.slice(0, 20), GOES_AWAY], keeps: false },
  ]
) {
  Deno.test({
    name: `Http2Connection of a peer that ${name} ${keeps ? "keeps" : "gives up"} its place`,
    fn: async () => {
      const peer = connect();
      peer.wire.send(concatBytes(sent));
      if (hangsUp === true) peer.wire.hangUp();
      await settle();
      assert.equal(peer.wire.closed, !keeps);
      if (keeps) peer.connection.sweep();
      await peer.done;
      assert.ok(peer.wire.closed);
    },
  });
}

Deno.test({
  name: "Http2Connection keeps no place for a peer that breaks a rule while the server stops",
  fn: async () => {
    const peer = connect({ handler: () => new Promise(() => {}) });
    peer.wire.send(headers(1));
    await settle();
    peer.connection.drain();
    await settle();
    assert.equal(peer.wire.closed, false, "its call is in flight");
    peer.wire.send(frame(FrameType.PING, new Uint8Array(3)));
    await peer.done;
    assert.equal(peer.wire.goneAway(), Http2ErrorCode.FRAME_SIZE_ERROR);
  },
});

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
    idle.nowMs = HTTP2_LIMITS.idleMsMax;
    idle.wire.send(headers(1, WHOLE));
    await settle();
    sweepAt(idle, HTTP2_LIMITS.idleMsMax + 1);
    await settle();
    assert.equal(idle.wire.goneAway(), undefined, "a call was over between two sweeps");
    sweepAt(idle, 2 * HTTP2_LIMITS.idleMsMax + 1);
    await idle.done;
    assert.equal(idle.wire.goneAway(), Http2ErrorCode.NO_ERROR);
  },
});

Deno.test({
  name: "Http2Connection ends when its peer does not read",
  fn: async () => {
    const peer = connect();
    peer.wire.write = () => new Promise(() => {});
    const ping = frame(FrameType.PING, new Uint8Array(8));
    const pings = Array.from({ length: HTTP2_LIMITS.wasteMax - 100 }, () => ping);
    for (let round = 0; !peer.wire.closed; round++) {
      assert.ok(round * pings.length * 17 < 2 * HTTP2_LIMITS.unreadBytesMax);
      peer.wire.send(concatBytes(pings));
      await until(() => peer.wire.isRead || peer.wire.closed);
      // So many pings are no waste in that time.
      peer.nowMs += HTTP2_LIMITS.sweepMs;
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
      assert.notEqual(peer.wire.goneAway(), Http2ErrorCode.INTERNAL_ERROR, `seed ${seed}`);
    }
  },
});

const STRANGERS: [first: Uint8Array, answer: RegExp][] = [
  [utf8("GET / HTTP/1.1\r\nhost: h\r\n\r\n"), /^HTTP\/1\.1 505 .*POST \/v1\/logs/s],
  [utf8("POST /v1/logs HTTP/1.1\r\n\r\n"), /^HTTP\/1\.1 505 .*--bind/s],
  [new Uint8Array([0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]), /^$/],
  [utf8("hello"), /^$/],
];

Deno.test({
  name: "Http2Connection tells HTTP/1.1 where to go, and says nothing to what would not read it",
  fn: async () => {
    for (const [first, expected] of STRANGERS) {
      const pieces = [first];
      const written: number[] = [];
      let closed = false;
      const connection = new Http2Connection({
        read(into) {
          const piece = pieces.shift();
          if (piece === undefined) return Promise.resolve(null);
          into.set(piece);
          return Promise.resolve(piece.byteLength);
        },
        write(bytes) {
          written.push(...bytes);
          return Promise.resolve(bytes.byteLength);
        },
        close: () => closed = true,
      }, {
        peer: "p",
        handler: () => Promise.reject(new Error("no call")),
        nowMs: () => 0,
        turns: AT_ONCE,
      });
      await connection.run();
      assert.match(String.fromCharCode(...written), expected);
      assert.ok(closed);
    }
  },
});
