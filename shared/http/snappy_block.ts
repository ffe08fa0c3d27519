/**
 * Snappy's block format (github.com/google/snappy, `format_description.txt`), decoded while it
 * arrives: a length, then literals and copies of what was decoded before, from any distance.
 *
 * Invariants: all output is kept, since a copy may reach back to its beginning. Room for it grows
 * with what was decoded. It never grows with what the sender announces, unless all of the input is
 * there. Each write lies within the announced length.
 */

/** What is wrong with other bytes. */
const TORN = "it is no whole Snappy block";
/** A tag with its offset or length. */
const TAG_BYTES_MAX = 5;
/** A length below 2^32 in groups of seven bits. */
const LENGTH_BYTES_MAX = 5;
/** Room for output, at first. */
const ROOM_BYTES_MIN = 64 * 1024;
/** Shorter runs are copied byte by byte: that takes less than a call. */
const CALL_BYTES_MIN = 32;
/** No encoder can do better: three bytes, of which a copy makes 64. */
const RATIO_MAX = 64 / 3;

const LITERAL = 0;
const NEAR_COPY = 1;
const COPY = 2;

export interface SnappyBlockOptions {
  /** Told the announced length as soon as it is known. Errors end the decoding. */
  readonly announce?: (bytes: number) => void;
  /** Told of room that is taken besides the room that was taken before. Errors end the decoding. */
  readonly grow?: (bytes: number) => void;
}

export class SnappyBlock {
  readonly #options: SnappyBlockOptions;
  /** Bytes of a tag, or of the length, whose other bytes have not come. */
  readonly #begun = new Uint8Array(TAG_BYTES_MAX);
  #begunLength = 0;
  /** Announced; -1 before it is known. */
  #length = -1;
  #output = new Uint8Array(0);
  #written = 0;
  #taken = 0;
  /** Bytes of a literal that have not come. */
  #literalLeft = 0;

  constructor(options: SnappyBlockOptions = {}) {
    this.#options = options;
  }

  /** Decodes what comes next. Errors: what of it is no Snappy. */
  push(input: Uint8Array): void {
    let at = 0;
    while (at < input.length) {
      if (this.#literalLeft > 0) at = this.#literal(input, at);
      else if (this.#begunLength > 0 || this.#length < 0) at = this.#begin(input, at);
      else at = this.#tags(input, at);
    }
  }

  /** The output since the last call; it stays as it is. */
  take(): Uint8Array {
    const taken = this.#output.subarray(this.#taken, this.#written);
    this.#taken = this.#written;
    return taken;
  }

  /** Throws when the block may not end here. */
  finish(): void {
    if (this.#begunLength > 0 || this.#literalLeft > 0 || this.#written !== this.#length) {
      throw new Error(TORN);
    }
  }

  /** Takes bytes for the length or the tag that is begun, one by one; where it stopped. */
  #begin(input: Uint8Array, start: number): number {
    const begun = this.#begun;
    for (let at = start; at < input.length;) {
      begun[this.#begunLength] = input[at] as number;
      this.#begunLength += 1;
      at += 1;
      if (this.#length < 0) {
        if (!this.#readLength()) continue;
      } else {
        if (this.#begunLength < tagBytes(begun[0] as number)) continue;
        this.#tag(begun, 0);
      }
      this.#begunLength = 0;
      return at;
    }
    return input.length;
  }

  /** Whether the length is whole. */
  #readLength(): boolean {
    const last = this.#begun[this.#begunLength - 1] as number;
    if (last >= 0x80 && this.#begunLength < LENGTH_BYTES_MAX) return false;
    let length = 0;
    for (let i = this.#begunLength - 1; i >= 0; i -= 1) {
      length = length * 128 + ((this.#begun[i] as number) & 0x7f);
    }
    if (last >= 0x80 || length >= 2 ** 32) throw new Error(TORN);
    this.#options.announce?.(length);
    this.#length = length;
    return true;
  }

  /** Tags that are whole in `input`, up to a literal that is not; where it stopped. */
  #tags(input: Uint8Array, start: number): number {
    let at = start;
    while (at < input.length) {
      const bytes = tagBytes(input[at] as number);
      if (at + bytes > input.length) {
        this.#begun.set(input.subarray(at));
        this.#begunLength = input.length - at;
        return input.length;
      }
      this.#tag(input, at);
      at += bytes;
      if (this.#literalLeft > 0) at = this.#literal(input, at);
    }
    return at;
  }

  /** Obeys the tag at `at`, whose bytes are all there; of a literal only the length. */
  #tag(input: Uint8Array, at: number): void {
    const tag = input[at] as number;
    const upper = tag >> 2;
    switch (tag & 3) {
      case LITERAL: {
        const length = upper < 60 ? upper : littleEndian(input, at + 1, upper - 59);
        this.#literalLeft = length + 1;
        if (length >= this.#length - this.#written) throw new Error(TORN);
        return;
      }
      case NEAR_COPY:
        return this.#copy(4 + (upper & 7), ((tag & 0xe0) << 3) | (input[at + 1] as number));
      case COPY:
        return this.#copy(1 + upper, littleEndian(input, at + 1, 2));
      default:
        return this.#copy(1 + upper, littleEndian(input, at + 1, 4));
    }
  }

  /** Takes what is there of a literal; where it stopped. */
  #literal(input: Uint8Array, start: number): number {
    const bytes = Math.min(this.#literalLeft, input.length - start);
    this.#reserve(bytes);
    const output = this.#output;
    const to = this.#written;
    if (bytes < CALL_BYTES_MIN) {
      for (let i = 0; i < bytes; i += 1) output[to + i] = input[start + i] as number;
    } else output.set(input.subarray(start, start + bytes), to);
    this.#written = to + bytes;
    this.#literalLeft -= bytes;
    return start + bytes;
  }

  #copy(length: number, distance: number): void {
    const to = this.#written;
    if (distance === 0 || distance > to || length > this.#length - to) throw new Error(TORN);
    this.#reserve(length);
    const output = this.#output;
    const from = to - distance;
    // A copy may reach into itself: then it repeats what it has just written.
    if (length >= CALL_BYTES_MIN && distance >= length) {
      output.copyWithin(to, from, from + length);
    } else {
      for (let i = 0; i < length; i += 1) output[to + i] = output[from + i] as number;
    }
    this.#written = to + length;
  }

  /** Makes room for `bytes` more, which the announced length has. */
  #reserve(bytes: number): void {
    const needed = this.#written + bytes;
    if (needed <= this.#output.length) return;
    const room = Math.min(this.#length, Math.max(needed, 2 * this.#output.length, ROOM_BYTES_MIN));
    this.#options.grow?.(room - this.#output.length);
    const output = new Uint8Array(room);
    output.set(this.#output.subarray(0, this.#written));
    this.#output = output;
  }

  /** Makes all of the room at once, for a block whose bytes are all there. */
  static whole(input: Uint8Array, announce: (bytes: number) => void): Uint8Array {
    const block = new SnappyBlock({
      announce: (bytes) => {
        announce(bytes);
        if (bytes > RATIO_MAX * input.length) throw new Error(TORN);
        block.#output = new Uint8Array(bytes);
      },
    });
    block.push(input);
    block.finish();
    return block.#output;
  }
}

/** The length of the tag with its offset or length, told by its first byte. */
function tagBytes(tag: number): number {
  switch (tag & 3) {
    case LITERAL:
      return tag < 60 << 2 ? 1 : (tag >> 2) - 58;
    case NEAR_COPY:
      return 2;
    case COPY:
      return 3;
    default:
      return TAG_BYTES_MAX;
  }
}

function littleEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0;
  for (let i = count - 1; i >= 0; i -= 1) value = value * 256 + (bytes[at + i] as number);
  return value;
}
