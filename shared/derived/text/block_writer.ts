/**
 * Blocks of a word index, each with some hundreds of entries and the lists of their granules:
 * README.md has the bytes. One lookup reads one block.
 */

import { deflateRawSync } from "node:zlib";
import { concatBytes, crc32 } from "../../base/bytes.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint } from "../../columns/varint.ts";
import type { Entries } from "./entries.ts";
import { type GranuleList, writeList } from "./granule_list.ts";
import { hashBytes, mixed } from "./hash.ts";
import { writeSingles } from "./single_granules.ts";
import type { TermTable } from "./term_table.ts";
import { CUT_DIGITS, EVERYWHERE, NIBBLE_MAX, SINGLE } from "./words_format.ts";

export interface Block {
  /** What is kept of its first term. */
  readonly first: Uint8Array;
  readonly bytes: Uint8Array;
}

/** A block is closed when its texts or its lists have so many bytes. */
const BLOCK_BYTES = 4 * 1024;
/** Blocks are of some kilobytes: a larger window would only take longer to set up. */
const COMPRESSION = { level: 6, windowBits: 13, memLevel: 6 } as const;

export class BlockWriter {
  readonly blocks: Block[] = [];
  readonly #table: TermTable;
  readonly #entries: Entries;
  readonly #total: number;
  readonly #lengths = new ByteBuilder();
  readonly #sizes = new ByteBuilder();
  readonly #texts = new ByteBuilder();
  readonly #hashes = new ByteBuilder();
  readonly #lists = new ByteBuilder();
  #singles: number[] = [];
  #first: Uint8Array | undefined;
  #count = 0;

  /** `total` granules. */
  constructor(table: TermTable, entries: Entries, total: number) {
    this.#table = table;
    this.#entries = entries;
    this.#total = total;
  }

  /** The entries come in their order. */
  add(entry: number, list: GranuleList): void {
    this.#addText(entry);
    this.#addList(list);
    this.#count += 1;
    const texts = this.#sizes.length + this.#texts.length + this.#hashes.length;
    if (Math.max(texts, this.#lists.length) >= BLOCK_BYTES) this.close();
  }

  /** Ends the last block. */
  close(): void {
    const first = this.#first;
    if (first === undefined) return;
    const sizes = this.#sizes.take();
    const plain = concatBytes([this.#lengths.take(), sizes, this.#texts.take()]);
    const packed = deflateRawSync(plain, COMPRESSION);
    const head = new ByteBuilder();
    writeVarint(head, this.#count);
    writeVarint(head, plain.byteLength);
    writeVarint(head, sizes.byteLength);
    writeVarint(head, packed.byteLength);
    head.append(packed);
    writeVarint(head, this.#hashes.length);
    head.append(this.#hashes.take());
    writeSingles(head, this.#singles, this.#total);
    head.append(this.#lists.take());
    this.blocks.push({ first, bytes: withChecksum(head.take()) });
    this.#first = undefined;
    this.#singles = [];
    this.#count = 0;
  }

  #addText(entry: number): void {
    const { bytes } = this.#table;
    const { terms, starts, kept, common, cuts } = this.#entries;
    const term = terms[starts[entry] as number] as number;
    const start = this.#table.startOf(term);
    const end = start + (kept[entry] as number);
    const shared = this.#first === undefined ? 0 : common[entry] as number;
    this.#first ??= bytes.slice(start, end);
    const cut = cuts[entry] as number;
    const own = end - start - shared + (cut === 0 ? 0 : 1);
    const [sizes, texts] = [this.#sizes, this.#texts];
    sizes.byte(Math.min(shared, NIBBLE_MAX) | Math.min(own, NIBBLE_MAX) << 4);
    if (shared >= NIBBLE_MAX) writeVarint(sizes, shared - NIBBLE_MAX);
    if (own >= NIBBLE_MAX) writeVarint(sizes, own - NIBBLE_MAX);
    for (let at = start + shared; at < end; at += 1) texts.byte(bytes[at] as number);
    if (cut !== 0) texts.byte(cut);
    if (cut === CUT_DIGITS) {
      this.#hashes.byte(mixed(hashBytes(bytes.subarray(start, this.#table.endOf(term)))) & 0xff);
    }
  }

  #addList(list: GranuleList): void {
    if (2 * list.count > this.#total) {
      writeVarint(this.#lengths, EVERYWHERE);
    } else if (list.count === 1) {
      writeVarint(this.#lengths, SINGLE);
      this.#singles.push(list.granules[0] as number);
    } else {
      const before = this.#lists.length;
      writeList(this.#lists, list);
      writeVarint(this.#lengths, this.#lists.length - before);
    }
  }
}

/** CRC-32 of `bytes`, then `bytes`. */
export function withChecksum(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const checksum = new DataView(new ArrayBuffer(4));
  checksum.setUint32(0, crc32(bytes), true);
  return concatBytes([new Uint8Array(checksum.buffer), bytes]);
}
