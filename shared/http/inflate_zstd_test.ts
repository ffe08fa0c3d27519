import assert from "node:assert/strict";
import { constants, zstdCompressSync } from "node:zlib";
import { concatBytes } from "../base/bytes.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { inflate } from "./inflate.ts";

const SEEDS = Number(Deno.env.get("SVC_ZSTD_SEEDS") ?? 300);
const WITH_CHECKSUM = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

/** Several blocks of text, some of it random. */
function textOf(random: SeededRandom, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => random.chance(0.3) ? random.below(256) : at % 61);
}

async function* inPieces(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    yield bytes.slice(at, at + pieceBytes);
    await Promise.resolve();
  }
}

Deno.test("inflate gives what was compressed with Zstandard, whatever the sizes of its pieces", async () => {
  const random = new SeededRandom(1);
  for (const length of [0, 1, 65_535, 65_536, 65_537, 131_072, 400_000]) {
    const text = textOf(random, length);
    for (const options of [{}, WITH_CHECKSUM]) {
      const frame = zstdCompressSync(text, options);
      for (const pieceBytes of [777, 65_536, Infinity]) {
        const pieces = await Array.fromAsync(inflate(inPieces(frame, pieceBytes), "zstd"));
        assert.deepEqual(concatBytes(pieces), text);
        assert.ok(pieces.every((piece) => piece.length <= 65_536), "no piece is longer");
      }
    }
  }
});

for (const [what, options] of [["", {}], [" with a checksum", WITH_CHECKSUM]] as const) {
  Deno.test(`a Zstandard body${what} damaged anywhere is an error to whoever reads it: the process lives`, async () => {
    const random = new SeededRandom(2);
    const text = textOf(random, 1_000_000);
    const frame = zstdCompressSync(text, options);
    let late = 0;
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const damaged = frame.slice();
      // The head stays: what is wrong with it is found before anything is decoded.
      const at = 20 + random.below(frame.length - 20);
      damaged[at] = (damaged[at] as number) ^ 1 << random.below(8);
      let read = 0;
      try {
        for await (const piece of inflate(inPieces(damaged, Infinity), "zstd")) {
          read += piece.length;
        }
        assert.ok(options !== WITH_CHECKSUM, `byte ${at}: other bytes were taken for the body`);
      } catch (error) {
        assert.ok(error instanceof Error && error.message !== "", String(error));
        assert.ok(error.name !== "AssertionError", error.message);
        if (read > 0) late += 1;
      }
    }
    assert.ok(late > 0, "none was found damaged once some of it was read");
  });
}
