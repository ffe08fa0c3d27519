/** One buffer for all columns of the rows that are read, at multiples of eight bytes. */

const ALIGNED = 8;
const BYTES_MIN = 1024 * 1024;

export class Arena {
  /** Views of it are good until the next `take`. */
  buffer: ArrayBuffer;
  #length = 0;

  /** In `spare`, as far as it goes. */
  constructor(spare: ArrayBuffer = new ArrayBuffer(0)) {
    this.buffer = spare;
  }

  /**
   * Where `byteLength` bytes of any content begin; as many as are copied at a time may be written
   * behind them.
   */
  take(byteLength: number): number {
    const start = this.#length;
    this.#length += Math.ceil(byteLength / ALIGNED) * ALIGNED;
    const needed = this.#length + ALIGNED;
    if (needed > this.buffer.byteLength) {
      const size = Math.max(BYTES_MIN, 2 ** Math.ceil(Math.log2(needed)));
      const larger = new ArrayBuffer(size);
      new Uint8Array(larger).set(new Uint8Array(this.buffer, 0, start));
      this.buffer = larger;
    }
    return start;
  }

  /** Gives back what was taken last, from `end` on. */
  keepUpTo(end: number): void {
    this.#length = Math.ceil(end / ALIGNED) * ALIGNED;
  }

  bytes(start: number, byteLength: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.buffer, start, byteLength);
  }

  ints(start: number, length: number): Int32Array<ArrayBuffer> {
    return new Int32Array(this.buffer, start, length);
  }
}
