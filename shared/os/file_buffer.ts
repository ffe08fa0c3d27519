/**
 * Whole files, one after the other, in one buffer: for a thread that does nothing else, so that it
 * does not wait for memory.
 */

const BYTES_MIN = 1024 * 1024;

export class FileBuffer {
  #bytes = new Uint8Array(BYTES_MIN);

  /**
   * The file's bytes, until the next call; undefined when there is no file. Blocks its thread.
   * Errors: of the system.
   */
  readSync(path: string): Uint8Array | undefined {
    try {
      using file = Deno.openSync(path, { read: true });
      const { size } = file.statSync();
      if (size > this.#bytes.byteLength) this.#bytes = new Uint8Array(size);
      let end = 0;
      while (end < size) {
        const count = file.readSync(this.#bytes.subarray(end, size));
        if (count === null) break;
        end += count;
      }
      return this.#bytes.subarray(0, end);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }
}
