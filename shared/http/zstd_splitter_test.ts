import assert from "node:assert/strict";
import { constants, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { concatBytes } from "../base/bytes.ts";
import { ZSTD_RUNS_MAX, ZstdSplitter } from "./zstd_splitter.ts";

const SKIPPABLE = new Uint8Array([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
const SKIPPABLE_EMPTY = new Uint8Array([0x5f, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);

/** The frames, whole. */
function splitAll(chunks: readonly Uint8Array[]): Uint8Array[] {
  const splitter = new ZstdSplitter();
  const open: Uint8Array[][] = [];
  let ended = 0;
  for (const chunk of chunks) {
    for (const { bytes, head, isEnd } of splitter.split(chunk)) {
      if (head !== undefined) open.push([]);
      open.at(-1)?.push(bytes);
      if (isEnd) ended += 1;
    }
  }
  splitter.finish();
  assert.equal(ended, open.length);
  return open.map((runs) => concatBytes(runs));
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...places, bytes.length].map((end, i) => bytes.subarray(places[i - 1] ?? 0, end));
}

function frameOf([bytes, checksum, level]: [Uint8Array, boolean, number]): Uint8Array {
  const params = {
    [constants.ZSTD_c_checksumFlag]: checksum ? 1 : 0,
    [constants.ZSTD_c_compressionLevel]: level,
  };
  return new Uint8Array(zstdCompressSync(bytes, { params }));
}

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 600 }),
  fc.tuple(fc.nat(255), fc.nat(400_000)).map(([byte, length]) => new Uint8Array(length).fill(byte)),
);
const frame = fc.tuple(payload, fc.boolean(), fc.integer({ min: 1, max: 9 })).map(frameOf);
const unit = fc.oneof(
  { weight: 3, arbitrary: frame.map((bytes) => ({ bytes, isData: true })) },
  fc.constantFrom(SKIPPABLE, SKIPPABLE_EMPTY).map((bytes) => ({ bytes, isData: false })),
);

Deno.test({
  name: "ZstdSplitter gives the frames of a stream cut anywhere, and refuses its torn ends",
  fn: () => {
    fc.assert(
      fc.property(
        fc.array(unit, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.nat(),
        (units, cuts, end) => {
          const whole = concatBytes(units.map(({ bytes }) => bytes));
          const frames = units.filter(({ isData }) => isData).map(({ bytes }) => bytes);
          const split = () => splitAll(cutAt(whole, cuts));
          if (frames.length === 0) assert.throws(split, /whole Zstandard frames/);
          else assert.deepEqual(split(), frames);
          const torn = whole.subarray(0, end % whole.length);
          const ends = units.map((_, i) =>
            concatBytes(units.slice(0, i + 1).map(({ bytes }) => bytes)).length
          );
          if (!ends.includes(torn.length)) {
            assert.throws(() => splitAll(cutAt(torn, cuts)), /whole Zstandard frames/);
          }
        },
      ),
      { numRuns: 150 },
    );
  },
});

Deno.test({
  name: "ZstdSplitter survives any bytes behind a magic number",
  fn: () => {
    const magic = frameOf([new Uint8Array(10), true, 3]).subarray(0, 4);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          splitAll([concatBytes([magic, bytes])]);
        } catch (error) {
          assert.match(String(error), /whole Zstandard frames/);
        }
      }),
      { numRuns: 500 },
    );
  },
});

const HEADS: readonly { name: string; head: readonly number[]; windowBytes: number }[] = [
  { name: "a window of 1 KiB", head: [0x00, 0x00], windowBytes: 1_024 },
  { name: "a window of 8 MiB and a checksum", head: [0x04, 13 << 3], windowBytes: 8_388_608 },
  { name: "a window of 15/8 KiB", head: [0x00, 7], windowBytes: 1_920 },
  { name: "a window and a dictionary", head: [0x01, 0x08, 99], windowBytes: 2_048 },
  { name: "a window and a content size", head: [0x40, 0x08, 1, 0], windowBytes: 2_048 },
  { name: "a content of 200 bytes", head: [0x20, 200], windowBytes: 200 },
  { name: "a content of 258 bytes", head: [0x60, 2, 0], windowBytes: 258 },
  { name: "a content of 65,537 bytes", head: [0xa0, 1, 0, 1, 0], windowBytes: 65_537 },
  { name: "a content of 2^40", head: [0xe0, 0, 0, 0, 0, 0, 1, 0, 0], windowBytes: 2 ** 40 },
];

for (const { name, head, windowBytes } of HEADS) {
  Deno.test({
    name: `ZstdSplitter reads that a decoder keeps ${name}`,
    fn: () => {
      const bytes = new Uint8Array([0x28, 0xb5, 0x2f, 0xfd, ...head]);
      const [run] = new ZstdSplitter().split(bytes);
      assert.equal(run?.head?.windowBytes, windowBytes);
      assert.deepEqual(run.bytes, bytes);
    },
  });
}

Deno.test({
  name: "ZstdSplitter refuses a stream of more than 1,024 frames",
  fn: () => {
    const empty = frameOf([new Uint8Array(0), false, 3]);
    const many = (count: number) => concatBytes(new Array<Uint8Array>(count).fill(empty));
    assert.equal(splitAll([many(1_024)]).length, 1_024);
    assert.throws(() => splitAll([many(1_025)]), /1024 at most/);
  },
});

Deno.test({
  name: "ZstdSplitter refuses a stream of more blocks than are worth a write each",
  fn: () => {
    const head = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0);
    const block = Uint8Array.of(8, 0, 0, 1);
    const many = (count: number) =>
      concatBytes([head, ...new Array<Uint8Array>(count).fill(block), Uint8Array.of(1, 0, 0)]);
    assert.equal(new ZstdSplitter().split(many(ZSTD_RUNS_MAX - 1)).length, 1 + ZSTD_RUNS_MAX);
    assert.throws(() => new ZstdSplitter().split(many(ZSTD_RUNS_MAX)), /flush the compressor less/);
  },
});
