/** The platter as a sparse file, which knows what of it was written and copies that alone. */

import { Buffer } from "node:buffer";
import type { Platter } from "./volatile_cache.ts";

const CHUNK_BYTES = 64 * 1024;

export class ImageFile implements Platter, Disposable {
  readonly #file: Deno.FsFile;
  readonly sizeBytes: number;
  /** Chunks that may hold something, by number. */
  readonly #written: Set<number>;

  private constructor(file: Deno.FsFile, sizeBytes: number, written: Set<number>) {
    this.#file = file;
    this.sizeBytes = sizeBytes;
    this.#written = written;
  }

  /** Opens an image that is there. */
  static open(path: string): ImageFile {
    const file = Deno.openSync(path, { read: true, write: true });
    const { size } = file.statSync();
    const image = new ImageFile(file, size, new Set());
    const chunk = new Uint8Array(CHUNK_BYTES);
    const zeros = new Uint8Array(CHUNK_BYTES);
    for (let number = 0; number * CHUNK_BYTES < size; number += 1) {
      image.read(number * CHUNK_BYTES, chunk);
      if (Buffer.compare(chunk, zeros) !== 0) image.#written.add(number);
    }
    return image;
  }

  read(offset: number, into: Uint8Array): void {
    this.#file.seekSync(offset, Deno.SeekMode.Start);
    let got = 0;
    while (got < into.byteLength) {
      const bytes = this.#file.readSync(into.subarray(got));
      if (bytes === null) return void into.fill(0, got);
      got += bytes;
    }
  }

  write(offset: number, bytes: Uint8Array): void {
    const last = Math.floor((offset + bytes.byteLength - 1) / CHUNK_BYTES);
    for (let number = Math.floor(offset / CHUNK_BYTES); number <= last; number += 1) {
      this.#written.add(number);
    }
    this.#file.seekSync(offset, Deno.SeekMode.Start);
    for (let put = 0; put < bytes.byteLength;) {
      put += this.#file.writeSync(bytes.subarray(put));
    }
  }

  /** A new file of the same bytes at `path`. */
  copyTo(path: string): ImageFile {
    const file = Deno.openSync(path, { read: true, write: true, create: true, truncate: true });
    file.truncateSync(this.sizeBytes);
    const copy = new ImageFile(file, this.sizeBytes, new Set());
    const chunk = new Uint8Array(CHUNK_BYTES);
    for (const number of this.#written) {
      const part = chunk.subarray(0, Math.min(CHUNK_BYTES, this.sizeBytes - number * CHUNK_BYTES));
      this.read(number * CHUNK_BYTES, part);
      copy.write(number * CHUNK_BYTES, part);
    }
    return copy;
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}
