/**
 * Memory that columns are copied into, and the next ones again: fresh memory for each costs more
 * than the copy.
 */

export class ColumnMemory {
  readonly #buffers: Uint8Array<ArrayBuffer>[] = [];
  #taken = 0;

  /** Bytes of any content, the caller's until `free`. */
  readonly take = (byteLength: number): Uint8Array<ArrayBuffer> => {
    const at = this.#taken;
    this.#taken += 1;
    let buffer = this.#buffers[at];
    if (buffer === undefined || buffer.byteLength < byteLength) {
      buffer = new Uint8Array(2 ** Math.ceil(Math.log2(byteLength + 1)));
      this.#buffers[at] = buffer;
    }
    return buffer.subarray(0, byteLength);
  };

  free(): void {
    this.#taken = 0;
  }
}
