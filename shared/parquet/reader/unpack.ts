/**
 * What `../writer/pack_bits.ts`, `../writer/runs.ts` and `../writer/deltas.ts` write, read. All
 * throw for bytes that they cannot have written.
 */

/** Bits that are taken at a time, behind up to seven that wait. */
const STEP_BITS = 24;
const STEP = 2 ** STEP_BITS;
/** The most bits of a distance in whole bytes: distances are below 2^53. */
const WIDTH_MAX = 56;
const HALF = 0x1_0000_0000;

/** Bytes of a page, read from its start. */
export class PageReader {
  readonly bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  /** The next `length` bytes, as a view. */
  take(length: number): Uint8Array {
    if (length > this.left) throw new Error(`a page ends ${length - this.left} bytes early`);
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  byte(): number {
    return this.take(1)[0] as number;
  }

  uint32(): number {
    const [a = 0, b = 0, c = 0, d = 0] = this.take(4);
    return (a | b << 8 | c << 16 | d << 24) >>> 0;
  }

  /** Below 2^53. */
  varint(): number {
    const value = this.varint64();
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new Error(`a number is ${value}`);
    return Number(value);
  }

  varint64(): bigint {
    let value = 0n;
    for (let bits = 0n; bits < 64n; bits += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 127) << bits;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw new Error("a number has no end");
  }

  zigzag64(): bigint {
    const folded = this.varint64();
    return (folded >> 1n) ^ -(folded & 1n);
  }
}

/** `count` numbers of `width` bits into `target` from `to` on. */
export function unpackBits(
  packed: Uint8Array,
  target: Float64Array | Uint32Array | Uint8Array,
  { to, count, width }: { readonly to: number; readonly count: number; readonly width: number },
): void {
  if (packed.length * 8 < count * width) throw new Error("packed numbers are cut");
  let at = 0;
  let pending = 0;
  let bits = 0;
  const mask = width >= STEP_BITS ? STEP - 1 : (1 << width) - 1;
  for (let index = to; index < to + count; index += 1) {
    let value = 0;
    let left = width;
    let scale = 1;
    for (; left > STEP_BITS; left -= STEP_BITS, scale *= STEP) {
      for (; bits < STEP_BITS; bits += 8, at += 1) pending |= (packed[at] as number) << bits;
      value += (pending & (STEP - 1)) * scale;
      pending >>>= STEP_BITS;
      bits -= STEP_BITS;
    }
    for (; bits < left; bits += 8, at += 1) pending |= (packed[at] as number) << bits;
    const rest = pending & (left === width ? mask : (1 << left) - 1);
    target[index] = left === width ? rest : value + rest * scale;
    pending >>>= left;
    bits -= left;
  }
}

/**
 * The hybrid of runs and packed bits: `count` numbers of `width` bits into `target` from `to` on.
 */
export function readRuns(
  reader: PageReader,
  target: Uint32Array | Uint8Array,
  { to, count, width }: { readonly to: number; readonly count: number; readonly width: number },
): void {
  if (width > 32) throw new Error(`places of ${width} bits`);
  const end = to + count;
  for (let at = to; at < end;) {
    const head = reader.varint();
    const length = Math.floor(head / 2);
    if (length === 0) throw new Error("a run of nothing");
    if (head % 2 === 0) {
      let value = 0;
      for (let bits = 0; bits < width; bits += 8) value += reader.byte() * 2 ** bits;
      target.fill(value, at, Math.min(end, at + length));
      at += length;
    } else {
      const packed = reader.take(length * width);
      unpackBits(packed, target, { to: at, count: Math.min(end - at, 8 * length), width });
      at += 8 * length;
    }
  }
}

/**
 * Numbers of such a hybrid at some places, ascending, which are counted from its first number. Runs
 * between them are passed over.
 */
export function readRunsAt(reader: PageReader, places: Uint32Array, width: number): Uint32Array {
  if (width > 32) throw new Error(`places of ${width} bits`);
  const found = new Uint32Array(places.length);
  let next = 0;
  for (let start = 0; next < places.length;) {
    const head = reader.varint();
    const length = Math.floor(head / 2);
    if (length === 0) throw new Error("a run of nothing");
    const isPacked = head % 2 === 1;
    const end = start + (isPacked ? 8 * length : length);
    const bytes = reader.take(isPacked ? length * width : (width + 7) >> 3);
    for (; next < places.length && (places[next] as number) < end; next += 1) {
      const bit = isPacked ? ((places[next] as number) - start) * width : 0;
      found[next] = bitsAt(bytes, bit, width);
    }
    start = end;
  }
  return found;
}

/** `width` bits from `bit` on, low ones first. */
function bitsAt(bytes: Uint8Array, bit: number, width: number): number {
  let value = 0;
  for (let taken = 0; taken < width;) {
    const at = bit + taken;
    const count = Math.min(8 - (at & 7), width - taken);
    value += (((bytes[at >> 3] as number) >> (at & 7)) & ((1 << count) - 1)) * 2 ** taken;
    taken += count;
  }
  return value;
}

/** `DELTA_BINARY_PACKED` of 32-bit integers: `count` of them into `target` from `to` on. */
export function readDeltas(
  reader: PageReader,
  target: Int32Array,
  { to, count }: { readonly to: number; readonly count: number },
): void {
  const { first, distances } = readDistances(reader, count);
  let value = Number(first);
  for (let at = 0; at < count; at += 1) {
    target[to + at] = value;
    if (target[to + at] !== value) throw new Error(`${value} has more than 32 bits`);
    value += distances[at] as number;
  }
}

/**
 * `DELTA_BINARY_PACKED` of 64-bit integers: `count` of them into `target` as pairs of halves, from
 * `to` on. The page has `total` of them.
 */
export function readWideDeltas(
  reader: PageReader,
  target: Int32Array,
  { to, count, total = count }: {
    readonly to: number;
    readonly count: number;
    readonly total?: number;
  },
): void {
  const { first, distances } = readDistances(reader, count, total);
  let high = Number(BigInt.asIntN(32, first >> 32n));
  let low = Number(first & 0xffff_ffffn);
  for (let at = 0; at < count; at += 1) {
    target[2 * (to + at)] = low;
    target[2 * (to + at) + 1] = high;
    low += distances[at] as number;
    if (low >= 0 && low < HALF) continue;
    const carry = Math.floor(low / HALF);
    low -= carry * HALF;
    high = (high + carry) | 0;
  }
}

interface Distances {
  readonly first: bigint;
  /** The distance from each value to the next; 0 behind the last. */
  readonly distances: Float64Array;
}

/** Reads the distances between the first `count` of `total` values. */
function readDistances(reader: PageReader, count: number, total = count): Distances {
  const block = reader.varint();
  const parts = reader.varint();
  const partLength = block / parts;
  if (parts === 0 || block === 0 || partLength % 32 !== 0) {
    throw new Error(`blocks of ${block} distances in ${parts} parts`);
  }
  const stored = reader.varint();
  if (stored !== total) throw new Error(`${stored} values where there are ${total}`);
  const first = reader.zigzag64();
  const distances = new Float64Array(count);
  for (let from = 0; from < count - 1; from += block) {
    const least = Number(reader.zigzag64());
    if (!Number.isSafeInteger(least)) throw new Error(`a distance of ${least}`);
    const widths = reader.take(parts);
    const blockEnd = Math.min(from + block, count - 1);
    for (let part = 0, start = from; start < blockEnd; part += 1, start += partLength) {
      const width = widths[part] as number;
      if (width > WIDTH_MAX) throw new Error(`distances of ${width} bits`);
      const end = Math.min(start + partLength, blockEnd);
      const packed = reader.take(width * partLength / 8);
      unpackBits(packed, distances, { to: start, count: end - start, width });
      for (let at = start; at < end; at += 1) distances[at] = (distances[at] as number) + least;
    }
  }
  return { first, distances };
}
