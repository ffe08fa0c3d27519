/** Damage to bytes that knows nothing of what they mean. */

import { concatBytes } from "../../shared/base/bytes.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

/** No body grows past this by mutation. */
export const BODY_BYTES_MAX = 1024 * 1024;

export function pick<T>(random: SeededRandom, values: readonly T[]): T {
  const value = values[random.below(values.length)];
  if (value === undefined) throw new Error("nothing to pick from");
  return value;
}

/** Bytes that decoders trip over: ends of ranges, varints without end, text that is not UTF-8. */
const AWKWARD: readonly Uint8Array[] = [
  [0x00],
  [0xff],
  [0x7f, 0xff, 0xff, 0xff],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
  [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
  [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f],
  [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
  [0xc3],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xc0, 0xaf],
  [0xef, 0xbb, 0xbf],
  [0x0b],
  [0x0c],
].map((bytes) => Uint8Array.from(bytes));

type Mutation = (bytes: Uint8Array, random: SeededRandom) => Uint8Array;

function spliced(bytes: Uint8Array, range: [start: number, end: number], put: Uint8Array) {
  return concatBytes([bytes.subarray(0, range[0]), put, bytes.subarray(range[1])]);
}

function slice(bytes: Uint8Array, random: SeededRandom): [number, number] {
  const start = random.below(bytes.length + 1);
  return [start, Math.min(bytes.length, start + random.below(random.chance(0.8) ? 16 : 4096))];
}

const MUTATIONS: readonly Mutation[] = [
  (bytes, random) => bytes.slice(0, random.below(bytes.length + 1)),
  (bytes, random) => {
    const changed = bytes.slice();
    for (let flips = 1 + random.below(4); flips > 0 && changed.length > 0; flips -= 1) {
      const at = random.below(changed.length);
      changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
    }
    return changed;
  },
  (bytes, random) => spliced(bytes, slice(bytes, random), new Uint8Array(0)),
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    return spliced(bytes, [at, at], pick(random, AWKWARD));
  },
  (bytes, random) => spliced(bytes, slice(bytes, random), random.bytes(random.below(8))),
  (bytes, random) => {
    const [start, end] = slice(bytes, random);
    const at = random.below(bytes.length + 1);
    return spliced(bytes, [at, at], bytes.subarray(start, end));
  },
  (bytes, random) => {
    const [start, end] = slice(bytes, random);
    const piece = bytes.subarray(start, end);
    const times = Math.min(1 + random.below(2_000), BODY_BYTES_MAX / (piece.length + 1));
    return spliced(bytes, [start, end], concatBytes(new Array(Math.floor(times)).fill(piece)));
  },
];

/** `bytes` after one to three mutations. */
export function mutateBytes(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  let changed = bytes;
  for (let rounds = 1 + random.below(3); rounds > 0; rounds -= 1) {
    changed = pick(random, MUTATIONS)(changed, random).subarray(0, BODY_BYTES_MAX);
  }
  return changed;
}
