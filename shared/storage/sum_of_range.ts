/** The checksum of a part of a stored file, read in blocks: bounded memory, whatever its length. */

import { crc32 } from "../base/bytes.ts";
import { readBySteps, type ReadBytes, type ReadSteps } from "./read_steps.ts";

/** Bytes of a file that are read at once. */
export const SUM_BLOCK_BYTES = 1024 * 1024;

/**
 * Reads into one block of memory: what it gives is good until the next read. `read` fills `into`
 * from an offset, and returns what it filled.
 */
export function readingInto(
  block: Uint8Array<ArrayBuffer>,
  read: (into: Uint8Array<ArrayBuffer>, offset: number) => ReturnType<ReadBytes>,
): ReadBytes {
  return (offset, length) =>
    read(length > block.byteLength ? new Uint8Array(length) : block.subarray(0, length), offset);
}

interface SummedRange {
  readonly offset: number;
  readonly byteLength: number;
}

/** CRC-32 of a range, and how many of its bytes the file has. */
export interface RangeSum {
  readonly sum: number;
  readonly byteLength: number;
}

/** Errors: those of `read`. */
export async function sumOfRange(read: ReadBytes, range: SummedRange): Promise<RangeSum> {
  return await readBySteps(sumSteps(range), read);
}

/** `sumOfRange` as steps. */
export function* sumSteps({ offset, byteLength }: SummedRange): ReadSteps<RangeSum> {
  let sum = 0;
  let done = 0;
  while (done < byteLength) {
    const length = Math.min(SUM_BLOCK_BYTES, byteLength - done);
    const bytes = yield { offset: offset + done, length };
    if (bytes.byteLength === 0) break;
    sum = crc32(bytes, sum);
    done += bytes.byteLength;
  }
  return { sum, byteLength: done };
}
