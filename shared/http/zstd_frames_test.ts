import assert from "node:assert/strict";
import { constants, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { concatBytes } from "../base/bytes.ts";
import { zstdFrames } from "./zstd_frames.ts";

const payloads = fc.oneof(
  fc.uint8Array({ maxLength: 3_000 }),
  fc.tuple(fc.nat(255), fc.nat(400_000)).map(([byte, length]) => new Uint8Array(length).fill(byte)),
);

Deno.test({
  name: "zstdFrames finds every frame's end and refuses every cut",
  fn: () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(payloads, fc.boolean(), fc.integer({ min: 1, max: 9 })), {
          minLength: 1,
          maxLength: 3,
        }),
        fc.nat(),
        (parts, cutAt) => {
          const frames = parts.map(([bytes, checksum, level]) =>
            new Uint8Array(zstdCompressSync(bytes, {
              params: {
                [constants.ZSTD_c_checksumFlag]: checksum ? 1 : 0,
                [constants.ZSTD_c_compressionLevel]: level,
              },
            }))
          );
          const whole = concatBytes(frames);
          assert.deepEqual(
            zstdFrames(whole)?.map((frame) => frame.length),
            frames.map((f) => f.length),
          );
          const cut = cutAt % whole.length;
          const ends = frames.map((_, i) => concatBytes(frames.slice(0, i + 1)).length);
          if (!ends.includes(cut)) assert.equal(zstdFrames(whole.subarray(0, cut)), undefined);
        },
      ),
      { numRuns: 60 },
    );
  },
});

Deno.test({
  name: "zstdFrames leaves skippable frames out and survives any bytes",
  fn: () => {
    const frame = new Uint8Array(zstdCompressSync(new Uint8Array(10)));
    const skippable = new Uint8Array([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
    assert.equal(zstdFrames(concatBytes([skippable, frame]))?.length, 1);
    assert.equal(zstdFrames(skippable), undefined);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        zstdFrames(concatBytes([frame.subarray(0, 4), bytes]));
      }),
      { numRuns: 300 },
    );
  },
});
