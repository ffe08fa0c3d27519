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
/** The most distances of a part; others write 32. */
const PART_MAX = 65_536;
/** Numbers of up to seven bytes, of seven bits each, are read without BigInts. */
const SHORT = 2 ** 49;

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
    const start = this.skip(length);
    return this.bytes.subarray(start, this.at);
  }

  /** Where the next `length` bytes begin, which are passed over. */
  skip(length: number): number {
    if (length > this.left) throw new Error(`a page ends ${length - this.left} bytes early`);
    this.at += length;
    return this.at - length;
  }

  byte(): number {
    return this.bytes[this.skip(1)] as number;
  }

  uint32(): number {
    const { bytes } = this;
    const at = this.skip(4);
    const low = (bytes[at] as number) | (bytes[at + 1] as number) << 8;
    return (low | (bytes[at + 2] as number) << 16 | (bytes[at + 3] as number) << 24) >>> 0;
  }

  /** Below 2^53. */
  varint(): number {
    const short = this.#short();
    if (short !== undefined) return short;
    const long = this.varint64();
    if (long > BigInt(Number.MAX_SAFE_INTEGER)) throw new Error(`a number is ${long}`);
    return Number(long);
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

  /** Within the safe integers. */
  zigzag(): number {
    const folded = this.#short();
    if (folded !== undefined) return folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
    const long = this.zigzag64();
    if (!Number.isSafeInteger(Number(long))) throw new Error(`a distance of ${long}`);
    return Number(long);
  }

  zigzag64(): bigint {
    const folded = this.varint64();
    return (folded >> 1n) ^ -(folded & 1n);
  }

  /** A number of few bytes; undefined, and nothing is read, where it goes on behind them. */
  #short(): number | undefined {
    const start = this.at;
    let value = 0;
    for (let scale = 1; scale < SHORT; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    this.at = start;
    return undefined;
  }
}

/** `count` numbers of `width` bits into `target` from `to` on; they begin at `from`. */
export function unpackBits(
  packed: Uint8Array,
  target: Float64Array | Uint32Array | Uint8Array,
  { from = 0, to, count, width }: {
    readonly from?: number;
    readonly to: number;
    readonly count: number;
    readonly width: number;
  },
): void {
  if ((packed.length - from) * 8 < count * width) throw new Error("packed numbers are cut");
  let at = from;
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
      const from = reader.skip(length * width);
      unpackBits(reader.bytes, target, {
        ...{ from, to: at, count: Math.min(end - at, 8 * length), width },
      });
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

/**
 * `DELTA_BINARY_PACKED` of 32-bit integers: `count` of them into `target` from `to` on. The page
 * has `total` of them, and is read to their end.
 */
export function readDeltas(
  reader: PageReader,
  target: Int32Array,
  { to, count, total = count }: {
    readonly to: number;
    readonly count: number;
    readonly total?: number;
  },
): void {
  const parts = new DeltaParts(reader, total);
  let value = Number(parts.first);
  if (count > 0) target[to] = within32(value);
  for (let start = 1; start < total; start += parts.length) {
    const wanted = Math.max(0, Math.min(parts.length, count - start));
    const distances = parts.next(wanted);
    for (let at = 0; at < wanted; at += 1) {
      value += distances[at] as number;
      target[to + start + at] = within32(value);
    }
  }
}

function within32(value: number): number {
  if ((value | 0) !== value) throw new Error(`${value} has more than 32 bits`);
  return value;
}

/**
 * `DELTA_BINARY_PACKED` of 64-bit integers: `count` of them into `target` as pairs of halves, from
 * `to` on.
 */
export function readWideDeltas(
  reader: PageReader,
  target: Int32Array,
  { to, count }: { readonly to: number; readonly count: number },
): void {
  let at = 2 * to;
  eachWide(reader, { count, total: count }, (low, high) => {
    target[at] = low;
    target[at + 1] = high;
    at += 2;
  });
}

/**
 * The 64-bit integers at some places of `total`, ascending. What is behind them is not looked at.
 */
export function readWideDeltasAt(reader: PageReader, places: Uint32Array, total: number): bigint[] {
  const found: bigint[] = [];
  const halves = new DataView(new ArrayBuffer(8));
  let place = 0;
  eachWide(reader, { count: (places.at(-1) ?? -1) + 1, total }, (low, high) => {
    if (places[found.length] === place) {
      halves.setInt32(0, high);
      halves.setUint32(4, low);
      found.push(halves.getBigInt64(0));
    }
    place += 1;
  });
  return found;
}

/** Tells `take` the halves of the first `count` of `total` integers. */
function eachWide(
  reader: PageReader,
  { count, total }: { readonly count: number; readonly total: number },
  take: (low: number, high: number) => void,
): void {
  const parts = new DeltaParts(reader, total);
  let high = Number(BigInt.asIntN(32, parts.first >> 32n));
  let low = Number(parts.first & 0xffff_ffffn);
  if (count > 0) take(low, high);
  for (let start = 1; start < count; start += parts.length) {
    const wanted = Math.min(parts.length, count - start);
    const distances = parts.next(wanted);
    for (let at = 0; at < wanted; at += 1) {
      low += distances[at] as number;
      if (low < 0 || low >= HALF) {
        const carry = Math.floor(low / HALF);
        low -= carry * HALF;
        high = (high + carry) | 0;
      }
      take(low, high);
    }
  }
}

/** The distances from each of `total` values to the next, part by part. */
class DeltaParts {
  readonly first: bigint;
  /** Distances of a part; the last may have fewer. */
  readonly length: number;
  readonly #reader: PageReader;
  readonly #partsPerBlock: number;
  readonly #distances: Float64Array;
  #part = 0;
  #least = 0;
  #widthsAt = 0;

  constructor(reader: PageReader, total: number) {
    const block = reader.varint();
    const parts = reader.varint();
    this.length = block / parts;
    if (parts === 0 || block === 0 || this.length % 32 !== 0 || this.length > PART_MAX) {
      throw new Error(`blocks of ${block} distances in ${parts} parts`);
    }
    const stored = reader.varint();
    if (stored !== total) throw new Error(`${stored} values where there are ${total}`);
    this.first = reader.zigzag64();
    this.#reader = reader;
    this.#partsPerBlock = parts;
    this.#distances = new Float64Array(this.length);
  }

  /** The first `wanted` distances of the next part, in memory that the next call writes over. */
  next(wanted: number): Float64Array {
    const reader = this.#reader;
    if (this.#part === 0) {
      this.#least = reader.zigzag();
      this.#widthsAt = reader.skip(this.#partsPerBlock);
    }
    const width = reader.bytes[this.#widthsAt + this.#part] as number;
    this.#part = (this.#part + 1) % this.#partsPerBlock;
    if (width > WIDTH_MAX) throw new Error(`distances of ${width} bits`);
    const from = reader.skip(width * this.length / 8);
    const distances = this.#distances;
    if (wanted === 0) return distances;
    if (width === 0) return distances.fill(this.#least, 0, wanted);
    unpackBits(reader.bytes, distances, { from, to: 0, count: wanted, width });
    for (let at = 0; at < wanted; at += 1) distances[at] = (distances[at] as number) + this.#least;
    return distances;
  }
}
