/**
 * A disk with a volatile write cache, as plain code. A write is readable at once and lies on the
 * platter after the next flush. A power cut decides about each write that was not flushed.
 *
 * Invariant: what `flush` returned for is on the platter whatever the cut keeps. Not covered: a
 * sector that is torn within its 512 bytes, which disks exclude.
 */

import type { SeededRandom } from "../../../shared/testing/seeded_random.ts";

/** A disk writes a sector whole or not at all. */
export const SECTOR_BYTES = 512;
/** Current contents are kept in blocks of this size, which file systems write. */
const BLOCK_BYTES = 4_096;
/** A real cache is finite, too: past this it is written back, in order. */
const CACHED_BYTES_MAX = 64 * 1024 * 1024;

/** What of the unflushed writes survives a power cut: none, the first ones, or any sectors. */
export const CUTS = ["none", "first", "sectors"] as const;
export type Cut = typeof CUTS[number];

/** Bytes that survive a power cut. Offsets and lengths are bytes. */
export interface Platter {
  read(offset: number, into: Uint8Array): void;
  write(offset: number, bytes: Uint8Array): void;
}

export interface CutReport {
  readonly cut: Cut;
  readonly unflushedWrites: number;
  readonly unflushedBytes: number;
  readonly keptBytes: number;
}

interface Write {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export class VolatileCache {
  readonly #platter: Platter;
  readonly #sizeBytes: number;
  #pending: Write[] = [];
  #pendingBytes = 0;
  /** Blocks that differ from the platter, by number. */
  readonly #current = new Map<number, Uint8Array>();
  /** A disk whose power is off takes nothing. */
  #isOff = false;
  /** A disk that answers a flush without carrying it out. */
  lies = false;

  constructor(platter: Platter, { sizeBytes }: { readonly sizeBytes: number }) {
    this.#platter = platter;
    this.#sizeBytes = sizeBytes;
  }

  get unflushedBytes(): number {
    return this.#pendingBytes;
  }

  /** What a reader sees now: cached writes over the platter. */
  read(offset: number, into: Uint8Array): void {
    this.#platter.read(offset, into);
    const last = Math.ceil((offset + into.byteLength) / BLOCK_BYTES);
    for (let block = Math.floor(offset / BLOCK_BYTES); block < last; block += 1) {
      const bytes = this.#current.get(block);
      if (bytes === undefined) continue;
      const from = Math.max(offset, block * BLOCK_BYTES);
      const to = Math.min(offset + into.byteLength, (block + 1) * BLOCK_BYTES);
      const part = bytes.subarray(from - block * BLOCK_BYTES, to - block * BLOCK_BYTES);
      into.set(part, from - offset);
    }
  }

  /** Takes `bytes` (copied) into the cache; false when the power is off. */
  write(offset: number, bytes: Uint8Array): boolean {
    if (this.#isOff) return false;
    if (offset < 0 || offset + bytes.byteLength > this.#sizeBytes) {
      throw new RangeError(`a write of ${bytes.byteLength} bytes at ${offset} is past the disk`);
    }
    this.#pending.push({ offset, bytes: bytes.slice() });
    this.#pendingBytes += bytes.byteLength;
    this.#patch(offset, bytes);
    if (this.#pendingBytes > CACHED_BYTES_MAX && !this.lies) this.#writeBack();
    return true;
  }

  /** Puts all writes on the platter; false when the power is off. */
  flush(): boolean {
    if (this.#isOff) return false;
    if (!this.lies) this.#writeBack();
    return true;
  }

  /** Ends the power. What `cut` keeps reaches the platter, nothing does afterwards. */
  cutPower(cut: Cut, random: SeededRandom): CutReport {
    const report = this.keep(cut, random, this.#platter);
    this.#isOff = true;
    return report;
  }

  /** The power comes back, or goes and comes: what is on the platter is all there is. */
  powerOn(): void {
    this.#isOff = false;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#current.clear();
  }

  /** Puts onto `platter` what a power cut at this moment would keep; the disk goes on. */
  keep(cut: Cut, random: SeededRandom, platter: Pick<Platter, "write">): CutReport {
    const kept = this.#isOff ? [] : keptOf(this.#pending, cut, random);
    let keptBytes = 0;
    for (const { offset, bytes } of kept) {
      platter.write(offset, bytes);
      keptBytes += bytes.byteLength;
    }
    return {
      cut,
      unflushedWrites: this.#pending.length,
      unflushedBytes: this.#pendingBytes,
      keptBytes,
    };
  }

  #writeBack(): void {
    for (const { offset, bytes } of this.#pending) this.#platter.write(offset, bytes);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#current.clear();
  }

  #patch(offset: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength;) {
      const block = Math.floor((offset + at) / BLOCK_BYTES);
      const within = offset + at - block * BLOCK_BYTES;
      const count = Math.min(BLOCK_BYTES - within, bytes.byteLength - at);
      let current = this.#current.get(block);
      if (current === undefined) {
        current = new Uint8Array(BLOCK_BYTES);
        if (count < BLOCK_BYTES) this.#platter.read(block * BLOCK_BYTES, current);
        this.#current.set(block, current);
      }
      current.set(bytes.subarray(at, at + count), within);
      at += count;
    }
  }
}

/** The writes, or parts of writes, that reach the platter, in the order in which they came. */
function keptOf(pending: readonly Write[], cut: Cut, random: SeededRandom): readonly Write[] {
  if (cut === "none") return [];
  if (cut === "first") return pending.slice(0, random.below(pending.length + 1));
  const probability = random.float();
  return pending.flatMap(({ offset, bytes }) => {
    const sectors: Write[] = [];
    for (let at = 0; at < bytes.byteLength; at += SECTOR_BYTES) {
      if (!random.chance(probability)) continue;
      sectors.push({ offset: offset + at, bytes: bytes.subarray(at, at + SECTOR_BYTES) });
    }
    return sectors;
  });
}
