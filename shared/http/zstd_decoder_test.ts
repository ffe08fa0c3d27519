import assert from "node:assert/strict";
import { zstdCompressSync } from "node:zlib";
import { concatBytes } from "../base/bytes.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { inflate } from "./inflate.ts";
import { ZstdDecoder } from "./zstd_decoder.ts";

const SEEDS = Number(Deno.env.get("SVC_ZSTD_SEEDS") ?? 300);

/** Several blocks of text, some of it random. */
function textOf(random: SeededRandom, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => random.chance(0.3) ? random.below(256) : at % 61);
}

function decodedWhole(frame: Uint8Array, pieceBytes: number): Uint8Array {
  using decoder = new ZstdDecoder(pieceBytes);
  return concatBytes([...decoder.decode(frame)]);
}

Deno.test("ZstdDecoder gives what was compressed, whatever the sizes of its pieces and of the input's", () => {
  const random = new SeededRandom(1);
  for (const length of [0, 1, 65_535, 65_536, 65_537, 400_000]) {
    const text = textOf(random, length);
    const frame = zstdCompressSync(text);
    for (const pieceBytes of [1_000, 65_536]) {
      assert.deepEqual(decodedWhole(frame, pieceBytes), text);
      using decoder = new ZstdDecoder(pieceBytes);
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < frame.length; at += 777) {
        pieces.push(...decoder.decode(frame.subarray(at, at + 777)));
      }
      assert.deepEqual(concatBytes(pieces), text);
    }
  }
});

Deno.test("a Zstandard body damaged anywhere is an error to whoever reads it, or other bytes: the process lives", async () => {
  const random = new SeededRandom(2);
  const frame = zstdCompressSync(textOf(random, 1_000_000));
  let late = 0;
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const damaged = frame.slice();
    // The head stays: what is wrong with it is found before anything is decoded.
    const at = 20 + random.below(frame.length - 20);
    damaged[at] = (damaged[at] as number) ^ 1 << random.below(8);
    let read = 0;
    try {
      for await (const piece of inflate(once(damaged), "zstd")) read += piece.length;
    } catch (error) {
      assert.ok(error instanceof Error && error.message !== "", String(error));
      if (read > 0) late += 1;
    }
  }
  assert.ok(late > 0, "none was found damaged once some of it was read");
});

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
  await Promise.resolve();
}
