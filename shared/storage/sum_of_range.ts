/** The checksum of a part of a stored file, read in blocks: bounded memory, whatever its length. */

import { crc32 } from "../base/bytes.ts";

/** Bytes of a file that are read at once. */
export const SUM_BLOCK_BYTES = 1024 * 1024;

/** Gives bytes of one file: fewer than `length` only where the file ends. */
export type ReadBytes = (offset: number, length: number) => Uint8Array | Promise<Uint8Array>;

/** CRC-32 of a range, and how many of its bytes the file has. Errors: those of `read`. */
export async function sumOfRange(
  read: ReadBytes,
  { offset, byteLength }: { readonly offset: number; readonly byteLength: number },
): Promise<{ readonly sum: number; readonly byteLength: number }> {
  let sum = 0;
  let done = 0;
  while (done < byteLength) {
    const bytes = await read(offset + done, Math.min(SUM_BLOCK_BYTES, byteLength - done));
    if (bytes.byteLength === 0) break;
    sum = crc32(bytes, sum);
    done += bytes.byteLength;
  }
  return { sum, byteLength: done };
}
