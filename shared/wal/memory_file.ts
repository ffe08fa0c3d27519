/** Bytes in memory as a file that is read. */

import type { ReadableFile } from "../os/file_system.ts";

export class MemoryFile implements ReadableFile {
  #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  size(): Promise<number> {
    return Promise.resolve(this.#bytes.byteLength);
  }

  readAt(into: Uint8Array, offset: number): Promise<number> {
    const found = this.#bytes.subarray(offset, offset + into.byteLength);
    into.set(found);
    return Promise.resolve(found.byteLength);
  }

  close(): void {
    this.#bytes = new Uint8Array(0);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}
