import assert from "node:assert/strict";
import { constants, zstdCompressSync } from "node:zlib";
import { unpackZstd, unpackZstdStart } from "./unpack_zstd.ts";

const BLOCK = 128 * 1024;

/** Lines that are packed to a fifth; zeros, of which a block is a byte that is repeated; noise. */
function contentOf(kind: "lines" | "zeros" | "noise", bytes: number): Uint8Array {
  if (kind === "zeros") return new Uint8Array(bytes);
  let [state, line, text] = [1, 0, ""];
  if (kind === "noise") {
    return Uint8Array.from({ length: bytes }, () => (state = Math.imul(state, 48_271) >>> 0) >> 8);
  }
  while (text.length < bytes) {
    text += `line ${line += 1} of ${line % 97} and ${line * 7_919 % 101}\n`;
  }
  return new TextEncoder().encode(text.slice(0, bytes));
}

for (const kind of ["lines", "zeros", "noise"] as const) {
  for (const level of [1, 3, 8, 19]) {
    Deno.test(`unpackZstdStart gives the beginning of ${kind} at level ${level}`, () => {
      const plain = contentOf(kind, 5 * BLOCK + 77);
      for (const pledgedSrcSize of [undefined, plain.length]) {
        const packed = zstdCompressSync(plain, {
          params: { [constants.ZSTD_c_compressionLevel]: level },
          ...(pledgedSrcSize === undefined ? {} : { pledgedSrcSize }),
        });
        for (const wanted of [0, 1, BLOCK, BLOCK + 1, 3 * BLOCK, plain.length]) {
          const start = unpackZstdStart(packed, { bytes: plain.length, wanted });
          assert(start.length >= wanted, `${start.length} of ${wanted} bytes`);
          assert.deepEqual(start, plain.subarray(0, start.length));
        }
      }
    });
  }
}

Deno.test("unpackZstdStart unpacks less than all where less is wanted", () => {
  const plain = contentOf("lines", 8 * BLOCK);
  const start = unpackZstdStart(zstdCompressSync(plain), { bytes: plain.length, wanted: 1_000 });
  assert(start.length < plain.length / 2, `${start.length} bytes`);
});

Deno.test("unpackZstdStart refuses what is cut, and what is longer than it should be", () => {
  const plain = contentOf("lines", 3 * BLOCK);
  const packed = new Uint8Array(zstdCompressSync(plain));
  const [bytes, wanted] = [plain.length, plain.length - 10];
  assert.throws(() => unpackZstdStart(packed.subarray(0, 900), { bytes, wanted }));
  assert.throws(() => unpackZstdStart(packed, { bytes: bytes - 5, wanted }));
  assert.throws(() => unpackZstdStart(new Uint8Array(3), { bytes, wanted }));
  assert.throws(() => unpackZstd(packed, bytes - 1));
});
