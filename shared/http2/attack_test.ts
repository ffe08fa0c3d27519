/**
 * What an attacker gets out of one connection: a bounded number of frames, and turns for everybody
 * else between them.
 */

import assert from "node:assert/strict";
import { concatBytes } from "../base/bytes.ts";
import { GREETING, HTTP2_ATTACKS, type Http2Attack } from "../testing/http2_attacks.ts";
import { ANSWER, connect, data, headers, type Peer, settle, WHOLE } from "../testing/http2_peer.ts";
import { until } from "../testing/until.ts";
import type { Http2Handler } from "./connection.ts";
import {
  Flag,
  frame,
  FrameType,
  HEAD_BYTES,
  Http2ErrorCode,
  PREFACE,
  readHead,
  readUint31,
  Setting,
  settingsFrame,
  uint32s,
} from "./frames.ts";
import { HTTP2_LIMITS } from "./limits.ts";

/** Rounds of an attack, within which it is cut off or never. */
const ROUNDS = { cutOff: 40, slowed: 4 } as const;
/** A frame has the work of one at least. */
const FRAMES_PER_TURN = HTTP2_LIMITS.turnWork;
/**
 * What a connection may send within no time at all: each frame of an attack is waste in part at
 * least, or work.
 */
const FRAMES_MAX = 2.5 * HTTP2_LIMITS.wasteMax;
/** Bytes that the connection reads at a time here. */
const PIECE_BYTES = 1_024;

/** Answers as ingest does: once the body is whole, with a message. */
const handler: Http2Handler = async (call) => {
  await call.receive(() => {});
  return { ...ANSWER, body: new Uint8Array(5), trailers: [["grpc-status", "0"]] };
};

for (const attack of HTTP2_ATTACKS) {
  const end = attack.ends === undefined ? "goes on" : `ends with code ${attack.ends}`;
  Deno.test({
    name: `Http2Connection ${end} and gives turns to others on ${attack.name}`,
    fn: async () => {
      let turns = 0;
      const next = () => {
        turns += 1;
        return Promise.resolve();
      };
      const peer = connect({ turns: { next }, handler, greeted: false });
      const frames = await send(attack, peer);
      assert.equal(peer.wire.goneAway(), attack.ends);
      peer.connection.sweep();
      assert.equal(peer.wire.closed, attack.ends !== undefined);
      assert.ok(frames < FRAMES_MAX, `${frames} frames`);
      assert.ok(
        turns >= Math.floor(frames / FRAMES_PER_TURN) - 1,
        `${turns} turns, ${frames} frames`,
      );
      peer.connection.close();
      await peer.done;
    },
  });
}

/** Sends an attack until it is cut off, or for some rounds; how many frames were read of it. */
async function send(attack: Http2Attack, { wire }: Peer): Promise<number> {
  const sent = [GREETING, attack.opening()];
  const isCutOff = () =>
    wire.closed || (wire.goneAway() ?? Http2ErrorCode.NO_ERROR) !== Http2ErrorCode.NO_ERROR;
  const hand = async (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
      wire.send(bytes.subarray(at, at + PIECE_BYTES));
    }
    await until(() => wire.isRead || isCutOff(), { pollMs: 0 });
  };
  const rounds = attack.ends === undefined ? ROUNDS.slowed : ROUNDS.cutOff;
  await hand(concatBytes(sent));
  for (let round = 0; round < rounds && !isCutOff(); round++) {
    const bytes = attack.round(round);
    sent.push(bytes);
    await hand(bytes);
  }
  await settle();
  return framesOf(concatBytes(sent).subarray(PREFACE.byteLength, wire.bytesRead));
}

function framesOf(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at + HEAD_BYTES <= bytes.byteLength; count++) {
    at += HEAD_BYTES + readHead(bytes, at).payloadBytes;
  }
  return count;
}

Deno.test({
  name: "Http2Connection takes what senders of 5,000 calls a second send around them",
  fn: async () => {
    const peer = connect({ handler });
    let id = -1;
    // One ping and one window a call are the most that gRPC's senders send; grpc-js ends each with
    // an empty frame.
    const call = () => [
      headers(id += 2),
      data(id, "message"),
      data(id, "", Flag.END_STREAM),
      frame(FrameType.WINDOW_UPDATE, uint32s(12)),
      frame(FrameType.PING, new Uint8Array(8)),
    ];
    for (let tenth = 0; tenth < 100; tenth++) {
      peer.nowMs += 100;
      if (tenth % 50 === 0) peer.connection.sweep();
      for (let batch = 0; batch < 5; batch++) {
        peer.wire.send(concatBytes(Array.from({ length: 100 }, call).flat()));
        await until(() => peer.wire.isRead || peer.wire.closed, { pollMs: 0 });
        peer.wire.written.length = 0;
      }
      assert.equal(peer.wire.closed, false, `after ${tenth} tenths of a second`);
    }
    peer.connection.close();
    await peer.done;
  },
});

Deno.test({
  name: "Http2Connection takes resets of a sender that gives up: 10 a second, and 192 at once",
  fn: async () => {
    const peer = connect();
    const reset = (n: number) => [
      headers(2 * n + 1),
      frame(FrameType.RST_STREAM, uint32s(Http2ErrorCode.CANCEL), { stream: 2 * n + 1 }),
    ];
    let n = 0;
    for (let second = 0; second < 100; second++) {
      peer.nowMs += 1_000;
      peer.wire.send(concatBytes(Array.from({ length: 10 }, () => reset(n++)).flat()));
      await settle();
    }
    peer.nowMs += 1_000;
    for (let batch = 0; batch < 2; batch++) {
      peer.wire.send(concatBytes(Array.from({ length: 96 }, () => reset(n++)).flat()));
      await settle();
    }
    assert.equal(peer.wire.goneAway(), undefined);
    peer.connection.close();
    await peer.done;
  },
});

Deno.test({
  name: "Http2Connection counts a call that was reset as long as its handler is at work",
  fn: async () => {
    const working = Promise.withResolvers<typeof ANSWER>();
    const peer = connect({ handler: () => working.promise });
    const { streamsMax } = HTTP2_LIMITS;
    const refused = () =>
      peer.wire.frames()
        .filter((one) => one.type === FrameType.RST_STREAM)
        .map((one) => [one.stream, readUint31(one.payload, 0)]);
    for (let i = 0; i < streamsMax; i++) {
      const stream = 2 * i + 1;
      peer.wire.send(headers(stream), frame(FrameType.RST_STREAM, uint32s(8), { stream }));
    }
    peer.wire.send(headers(2 * streamsMax + 1, WHOLE));
    await settle();
    assert.deepEqual(refused(), [[2 * streamsMax + 1, Http2ErrorCode.REFUSED_STREAM]]);
    working.resolve(ANSWER);
    await settle();
    peer.wire.send(headers(2 * streamsMax + 3, WHOLE));
    await settle();
    assert.equal(refused().length, 1);
    assert.equal(peer.wire.frames().at(-1)?.stream, 2 * streamsMax + 3);
    peer.connection.close();
    await peer.done;
  },
});

/** What other servers reset a call for while its handler goes on (CVE-2025-8671). */
const PROVOCATIONS: { name: string; sent: Uint8Array[] }[] = [
  {
    name: "a window by 0",
    sent: [headers(1, WHOLE), frame(FrameType.WINDOW_UPDATE, uint32s(0), { stream: 1 })],
  },
  {
    name: "a window too large",
    sent: [headers(1, WHOLE), frame(FrameType.WINDOW_UPDATE, uint32s(2 ** 31 - 1), { stream: 1 })],
  },
  { name: "data behind the end", sent: [headers(1, WHOLE), data(1, "x")] },
  { name: "headers behind the end", sent: [headers(1, WHOLE), headers(1, WHOLE)] },
  {
    name: "a priority of another size",
    sent: [headers(1, WHOLE), frame(FrameType.PRIORITY, new Uint8Array(4), { stream: 1 })],
  },
  {
    name: "a call that depends on itself",
    sent: [
      headers(1, WHOLE),
      frame(FrameType.PRIORITY, uint32s(1, 0).subarray(0, 5), { stream: 1 }),
    ],
  },
];

for (const { name, sent } of PROVOCATIONS) {
  Deno.test({
    name: `Http2Connection does not reset a call at work for ${name}`,
    fn: async () => {
      const peer = connect({ handler: () => new Promise(() => {}) });
      peer.wire.send(...sent);
      await settle();
      assert.ok(peer.wire.frames().every((one) => one.type !== FrameType.RST_STREAM));
      peer.connection.close();
      await peer.done;
    },
  });
}

Deno.test({
  name: "Http2Connection resets what is no request, and takes none of its body",
  fn: async () => {
    const peer = connect();
    const empty = frame(FrameType.HEADERS, new Uint8Array(0), {
      flags: Flag.END_HEADERS,
      stream: 1,
    });
    peer.wire.send(empty, data(1, "body", Flag.END_STREAM), headers(3, WHOLE));
    await settle();
    const resets = peer.wire.frames().filter((one) => one.type === FrameType.RST_STREAM);
    assert.deepEqual(
      resets.map((one) => [one.stream, readUint31(one.payload, 0)]),
      [[1, Http2ErrorCode.PROTOCOL_ERROR]],
    );
    assert.deepEqual(peer.bodies, ["/3 "]);
    peer.connection.close();
    await peer.done;
  },
});

Deno.test({
  name: "Http2Connection applies the last of several windows in a frame, to calls that there are",
  fn: async () => {
    const peer = connect({ handler });
    const window = (bytes: number) => [Setting.INITIAL_WINDOW_SIZE, bytes] as const;
    const answered = () => peer.wire.frames().some((one) => one.stream === 1);
    peer.wire.send(settingsFrame([window(0)]), headers(1, WHOLE));
    await settle();
    peer.wire.send(settingsFrame([window(5), window(4)]));
    await settle();
    assert.equal(answered(), false);
    peer.wire.send(settingsFrame([window(4), window(5)]));
    await settle();
    assert.equal(answered(), true);
    peer.connection.close();
    await peer.done;
  },
});

Deno.test({
  name: "Http2Connection ends when its peer gives no room for answers for too long",
  fn: async () => {
    const peer = connect({ handler });
    peer.wire.send(settingsFrame([[Setting.INITIAL_WINDOW_SIZE, 0]]), headers(1, WHOLE));
    await settle();
    const sweepAfter = async (ms: number) => {
      peer.wire.send(frame(FrameType.PING, new Uint8Array(8)));
      await settle();
      peer.nowMs += ms;
      peer.connection.sweep();
    };
    await sweepAfter(HTTP2_LIMITS.answerMsMax);
    assert.equal(peer.wire.closed, false);
    await sweepAfter(1);
    assert.equal(peer.wire.closed, true);
    await peer.done;
  },
});

Deno.test({
  name: "Http2Connection that is ended waits for a peer that does not read until the next sweep",
  fn: async () => {
    const peer = connect();
    await settle();
    const writing = Promise.withResolvers<number>();
    peer.wire.write = () => writing.promise;
    peer.wire.send(headers(1), frame(FrameType.PING, new Uint8Array(7)));
    await settle();
    assert.equal(peer.wire.closed, false);
    peer.connection.sweep();
    assert.equal(peer.wire.closed, true);
    writing.reject(new Deno.errors.Interrupted("closed"));
    await peer.done;
    assert.deepEqual(peer.bodies, ["/1 gone"]);
  },
});

Deno.test({
  name: "Http2Connection takes no frame behind a turn of others, nor any once it is closed",
  fn: async () => {
    const turn = Promise.withResolvers<void>();
    const peer = connect({ turns: { next: () => turn.promise } });
    const ping = frame(FrameType.PING, new Uint8Array(8));
    peer.wire.send(concatBytes(Array.from({ length: 2 * FRAMES_PER_TURN }, () => ping)));
    await settle();
    const answered = () => peer.wire.frames().filter((one) => one.type === FrameType.PING).length;
    const before = answered();
    assert.ok(before <= FRAMES_PER_TURN, String(before));
    peer.connection.close();
    turn.resolve();
    await peer.done;
    assert.equal(answered(), before);
  },
});
