/**
 * Damaged Snappy, by itself; whole bodies are in `body_test.ts`, `body_stream_test.ts` and
 * `tests/golden/`.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { concatBytes, utf8 } from "../base/bytes.ts";
import { echoesDuring } from "../testing/echoes_during.ts";
import { inflate } from "./inflate.ts";
import { SnappyBlock } from "./snappy_block.ts";
import { SnappyFrames } from "./snappy_frames.ts";
import { snappyBlock, snappyFrame, snappyFramed, sum } from "../testing/snappy.ts";

const LENGTH_MAX = 1024 * 1024;

function decodeWhole(bytes: Uint8Array): Uint8Array {
  return SnappyBlock.whole(bytes, (announced) => {
    if (announced > LENGTH_MAX) throw new Error("too long");
  });
}

/** Decodes `bytes` in pieces of `size`. What the decoder throws is returned as text. */
function decodeParts(bytes: Uint8Array, size: number): Uint8Array {
  let room = 0;
  const block = new SnappyBlock({
    announce: (announced) => {
      if (announced > LENGTH_MAX) throw new Error("too long");
    },
    grow: (bytes) => void (room += bytes),
  });
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    block.push(bytes.subarray(at, at + size));
    pieces.push(block.take());
  }
  block.finish();
  const decoded = concatBytes(pieces);
  assert.ok(room <= Math.max(LENGTH_MAX, 2 * decoded.length));
  return decoded;
}

function outcome(decode: () => Uint8Array): string {
  try {
    return decode().toBase64();
  } catch (error) {
    return String(error);
  }
}

/**
 * Written out by hand from the format's description: each kind of tag, offsets and lengths at their
 * ends.
 */
const BLOCKS: readonly { name: string; bytes: number[]; text?: string }[] = [
  { name: "nothing", bytes: [0], text: "" },
  { name: "a literal", bytes: [3, 2 << 2, 97, 98, 99], text: "abc" },
  {
    name: "a literal with its length in one byte",
    bytes: [3, 60 << 2, 2, 97, 98, 99],
    text: "abc",
  },
  { name: "in two", bytes: [3, 61 << 2, 2, 0, 97, 98, 99], text: "abc" },
  { name: "in three", bytes: [3, 62 << 2, 2, 0, 0, 97, 98, 99], text: "abc" },
  { name: "in four", bytes: [3, 63 << 2, 2, 0, 0, 0, 97, 98, 99], text: "abc" },
  { name: "a near copy", bytes: [7, 2 << 2, 97, 98, 99, 1, 3], text: "abcabca" },
  { name: "a near copy into itself", bytes: [12, 0, 97, 1 | (7 << 2), 1], text: "a".repeat(12) },
  { name: "a copy", bytes: [5, 2 << 2, 97, 98, 99, 2 | (1 << 2), 2, 0], text: "abcbc" },
  { name: "a far copy", bytes: [5, 2 << 2, 97, 98, 99, 3 | (1 << 2), 3, 0, 0, 0], text: "abcab" },
  { name: "a length with groups that say nothing", bytes: [0x81, 0x80, 0, 0, 97], text: "a" },
  { name: "no bytes", bytes: [] },
  { name: "a length without an end", bytes: [0x80, 0x80] },
  { name: "a length of six bytes", bytes: [0x81, 0x80, 0x80, 0x80, 0x80, 0, 0, 97] },
  { name: "a length of 2^32", bytes: [0x80, 0x80, 0x80, 0x80, 0x10] },
  { name: "less than announced", bytes: [2, 0, 97] },
  { name: "more than announced", bytes: [1, 1 << 2, 97, 98] },
  { name: "a copy past the announced length", bytes: [2, 0, 97, 1, 1] },
  { name: "a copy of nothing before", bytes: [4, 1, 1] },
  { name: "a copy from before the beginning", bytes: [5, 0, 97, 1, 2] },
  { name: "a copy from no distance", bytes: [5, 0, 97, 1, 0] },
  { name: "a far copy from 2^32 - 1", bytes: [5, 0, 97, 3 | (3 << 2), 255, 255, 255, 255] },
  { name: "a cut literal", bytes: [3, 2 << 2, 97] },
  { name: "a cut tag", bytes: [3, 0, 97, 2] },
  { name: "a literal of 4 GiB", bytes: [3, 63 << 2, 255, 255, 255, 255, 97] },
  { name: "a byte behind the end", bytes: [1, 0, 97, 0] },
];

for (const { name, bytes, text } of BLOCKS) {
  Deno.test({
    name: `SnappyBlock ${
      text === undefined ? "refuses" : "decodes"
    } ${name}, whole and byte by byte`,
    fn() {
      const block = Uint8Array.from(bytes);
      for (const decode of [() => decodeWhole(block), () => decodeParts(block, 1)]) {
        if (text === undefined) assert.throws(decode, /no whole Snappy block/);
        else assert.deepEqual(decode(), utf8(text));
      }
    },
  });
}

const plains = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 90 }), fc.nat(2_000))
    .map(([unit, times]) => concatBytes(Array(times).fill(unit))),
);

Deno.test({
  name:
    "SnappyBlock gives back what an encoder was given, and the same of damaged bytes however they are cut",
  fn() {
    fc.assert(
      fc.property(
        plains,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        fc.integer({ min: 1, max: 600 }),
        (plain, damage, size) => {
          const packed = snappyBlock(plain);
          assert.deepEqual(decodeWhole(packed), plain);
          assert.deepEqual(decodeParts(packed, size), plain);
          for (const [at, byte] of damage) packed[at % packed.length] = byte;
          const whole = outcome(() => decodeWhole(packed));
          const parts = outcome(() => decodeParts(packed, size));
          assert.equal(whole, parts);
        },
      ),
      { numRuns: 1_000 },
    );
  },
});

const IDENTIFIER = snappyFrame(0xff, utf8("sNaPpY"));
const ONE = concatBytes([sum(utf8("a")), utf8("a")]);

const STREAMS: readonly { name: string; parts: Uint8Array[]; text?: string }[] = [
  { name: "nothing but its identifier", parts: [IDENTIFIER], text: "" },
  {
    name: "a chunk that may be skipped",
    parts: [IDENTIFIER, snappyFrame(0x80, ONE), snappyFrame(1, ONE)],
    text: "a",
  },
  {
    name: "padding of no bytes",
    parts: [IDENTIFIER, snappyFrame(0xfe, new Uint8Array(0))],
    text: "",
  },
  { name: "an empty chunk", parts: [IDENTIFIER, snappyFrame(1, sum(new Uint8Array(0)))], text: "" },
  { name: "no identifier", parts: [snappyFrame(1, ONE)] },
  { name: "padding first", parts: [snappyFrame(0xfe, ONE), IDENTIFIER] },
  { name: "an identifier of another length", parts: [snappyFrame(0xff, utf8("sNaPp"))] },
  { name: "an identifier of other letters", parts: [snappyFrame(0xff, utf8("sNaPpy"))] },
  { name: "a chunk of a type that may not be skipped", parts: [IDENTIFIER, snappyFrame(2, ONE)] },
  { name: "a chunk without a checksum", parts: [IDENTIFIER, snappyFrame(1, utf8("abc"))] },
  { name: "a wrong checksum", parts: [IDENTIFIER, snappyFrame(1, utf8("abcda"))] },
  {
    name: "a plain chunk over 64 KiB",
    parts: [
      IDENTIFIER,
      snappyFrame(1, concatBytes([sum(new Uint8Array(65_537)), new Uint8Array(65_537)])),
    ],
  },
  {
    name: "a packed chunk over 64 KiB",
    parts: [
      IDENTIFIER,
      snappyFrame(
        0,
        concatBytes([sum(new Uint8Array(65_537)), snappyBlock(new Uint8Array(65_537))]),
      ),
    ],
  },
  { name: "a cut chunk", parts: [IDENTIFIER, snappyFrame(1, ONE).subarray(0, -1)] },
  { name: "a cut header", parts: [IDENTIFIER, Uint8Array.of(1, 0)] },
  { name: "no bytes", parts: [] },
];

function decodeFrames(bytes: Uint8Array, size: number): Uint8Array {
  const frames = new SnappyFrames();
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    pieces.push(...frames.decode(bytes.subarray(at, at + size)));
  }
  frames.finish();
  return concatBytes(pieces);
}

for (const { name, parts, text } of STREAMS) {
  Deno.test({
    name: `SnappyFrames ${
      text === undefined ? "refuses" : "decodes"
    } ${name}, whole and byte by byte`,
    fn() {
      const stream = concatBytes(parts);
      for (const size of [stream.length + 1, 1]) {
        const decode = () => decodeFrames(stream, size);
        if (text === undefined) assert.throws(decode, /framed Snappy/);
        else assert.deepEqual(decode(), utf8(text));
      }
    },
  });
}

Deno.test({
  name: "SnappyFrames gives the same of damaged bytes however they are cut, and never other bytes",
  fn() {
    fc.assert(
      fc.property(
        plains,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 600 }),
        (plain, damage, size) => {
          const packed = snappyFramed(plain, 20_000);
          for (const [at, byte] of damage) packed[at % packed.length] = byte;
          const [whole, parts] = [packed.length, size].map((size) =>
            outcome(() => decodeFrames(packed, size))
          );
          assert.equal(whole, parts);
        },
      ),
      { numRuns: 500 },
    );
  },
});

Deno.test({
  name:
    "inflate lets sockets be served within Snappy that takes long, and refuses chunks without number",
  fn: async () => {
    const mebibytes = 16;
    const tiny = concatBytes(Array(1_000).fill(snappyFrame(1, sum(new Uint8Array(0)))));
    async function* many() {
      yield IDENTIFIER;
      for (let sent = 0; sent < mebibytes * 1024 * 1024; sent += tiny.length) yield tiny;
    }
    await assert.rejects(
      Array.fromAsync(inflate(many(), "x-snappy-framed")),
      /16384 chunks at most/,
    );
    const run = snappyBlock(new Uint8Array(mebibytes * 1024 * 1024));
    async function* once() {
      yield run;
    }
    const echoes = await echoesDuring(async () => {
      for await (const bytes of inflate(once(), "snappy")) assert.ok(bytes.length <= 65_536);
    });
    assert.ok(echoes >= mebibytes / 2, `${echoes} echoes in ${mebibytes} MiB`);
  },
});
