/** What peers may do on a connection, frame by frame, and what they are answered. */

import assert from "node:assert/strict";
import { concatBytes } from "../base/bytes.ts";
import {
  ANSWER,
  connect,
  data,
  headers,
  requestFields,
  settle,
  WHOLE,
} from "../testing/http2_peer.ts";
import {
  Flag,
  frame,
  FrameType,
  Http2ErrorCode,
  PREFACE,
  readUint31,
  settingsFrame,
  uint32s,
} from "./frames.ts";
import { encodeFields, HpackDecoder } from "./hpack.ts";
import { HTTP2_LIMITS } from "./limits.ts";

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
    assert.equal(peer.wire.goneAway(), Http2ErrorCode.NO_ERROR);
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
      [[2 * streamsMax + 1, Http2ErrorCode.REFUSED_STREAM]],
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
