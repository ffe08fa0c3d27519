import assert from "node:assert/strict";
import { constants, createZstdDecompress, zstdCompressSync } from "node:zlib";
import { readZstdStart, unpackZstd } from "./unpack_zstd.ts";

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

function startOf(
  packed: Uint8Array,
  of: { readonly bytes: number; readonly wanted: number },
): Uint8Array {
  return readZstdStart(packed, of, (start) => start.slice());
}

for (const kind of ["lines", "zeros", "noise"] as const) {
  for (const level of [1, 3, 8, 19]) {
    Deno.test(`readZstdStart gives the beginning of ${kind} at level ${level}`, () => {
      const plain = contentOf(kind, 5 * BLOCK + 77);
      for (const pledgedSrcSize of [undefined, plain.length]) {
        const packed = zstdCompressSync(plain, {
          params: { [constants.ZSTD_c_compressionLevel]: level },
          ...(pledgedSrcSize === undefined ? {} : { pledgedSrcSize }),
        });
        for (const wanted of [0, 1, BLOCK, BLOCK + 1, 3 * BLOCK, plain.length]) {
          const start = startOf(packed, { bytes: plain.length, wanted });
          assert(start.length >= wanted, `${start.length} of ${wanted} bytes`);
          assert.deepEqual(start, plain.subarray(0, start.length));
        }
      }
    });
  }
}

Deno.test("readZstdStart unpacks less than all where less is wanted", () => {
  const plain = contentOf("lines", 8 * BLOCK);
  const start = startOf(zstdCompressSync(plain), { bytes: plain.length, wanted: 1_000 });
  assert(start.length < plain.length / 2, `${start.length} bytes`);
});

Deno.test("readZstdStart refuses what is cut, and what is longer than it should be", () => {
  const plain = contentOf("lines", 3 * BLOCK);
  const packed = new Uint8Array(zstdCompressSync(plain));
  const [bytes, wanted] = [plain.length, plain.length - 10];
  assert.throws(() => startOf(packed.subarray(0, 900), { bytes, wanted }));
  assert.throws(() => startOf(packed, { bytes: bytes - 5, wanted: bytes - 5 }));
  assert.throws(() => startOf(new Uint8Array(3), { bytes, wanted }));
  assert.throws(() => unpackZstd(packed, bytes - 1));
});

Deno.test("readZstdStart gives more where the first bytes were too few, also amid other calls", () => {
  const [plain, other] = [contentOf("lines", 5 * BLOCK), contentOf("noise", BLOCK)];
  const lengths: number[] = [];
  const packed = zstdCompressSync(plain);
  const read = (start: Uint8Array) => {
    lengths.push(start.length);
    assert(isBeginning(startOf(zstdCompressSync(other), { bytes: BLOCK, wanted: BLOCK }), other));
    assert(start.every((byte, at) => byte === plain[at]));
    if (start.length < 3 * BLOCK) throw new Error("it is too short");
    return start.slice(0, 3 * BLOCK);
  };
  const of = { bytes: plain.length, wanted: 2 * BLOCK };
  assert(isBeginning(readZstdStart(packed, of, read), plain));
  assert.deepEqual(lengths, [2 * BLOCK, 2 * BLOCK + 5 * BLOCK / 8, 2 * BLOCK + 5 * BLOCK / 4]);
  const never = () => readZstdStart(packed, of, () => assert.fail("never enough"));
  assert.throws(never, { message: "never enough" });
});

Deno.test("What is too large for the memory that is kept is unpacked, too", () => {
  const plain = contentOf("noise", 17 * BLOCK);
  const packed = zstdCompressSync(plain);
  const of = { bytes: plain.length, wanted: 1_000 };
  assert(isBeginning(startOf(packed, of), plain));
  assert.equal(unpackZstd(packed, plain.length).length, plain.length);
  assert.throws(() => unpackZstd(packed, plain.length - 1));
});

Deno.test("readZstdStart gives memory of its own to a call within another", () => {
  const [outer, inner] = [contentOf("lines", BLOCK), contentOf("noise", BLOCK)];
  const of = { bytes: BLOCK, wanted: BLOCK };
  for (let round = 0; round < 3; round += 1) {
    readZstdStart(zstdCompressSync(outer), of, (start) => {
      readZstdStart(zstdCompressSync(inner), of, (within) => assert.deepEqual(within, inner));
      assert.deepEqual(start, outer);
    });
  }
});

Deno.test("What is damaged leaves nothing behind for what is unpacked next", () => {
  const plain = contentOf("lines", 3 * BLOCK);
  const packed = new Uint8Array(zstdCompressSync(plain));
  const of = { bytes: plain.length, wanted: BLOCK };
  for (let at = 0; at < packed.length; at += 1_009) {
    const damaged = packed.slice();
    damaged[at] = ~(damaged[at] as number);
    for (const bytes of [damaged, packed.subarray(0, at)]) {
      try {
        startOf(bytes, of);
      } catch {
        // Some damage is not seen before the end.
      }
      assert(isBeginning(startOf(packed, of), plain));
      assert(isBeginning(unpackZstd(packed, plain.length), plain));
    }
  }
});

/** Whether `start` has a block at least, and goes as `plain` does: a difference shown is long. */
function isBeginning(start: Uint8Array, plain: Uint8Array): boolean {
  return start.length >= BLOCK && start.every((byte, at) => byte === plain[at]);
}

Deno.test("Pages are unpacked by one decoder, which this runtime's streams have inside", () => {
  const stream = createZstdDecompress();
  assert.equal(typeof Reflect.get(Reflect.get(stream, "_handle"), "writeSync"), "function");
  assert(Reflect.get(stream, "_writeState") instanceof Uint32Array);
});
