/**
 * A Bloom filter over the values of those string columns of a data file that have few. It is small
 * enough to stay in memory for every file of a table. A file without a value is so left out without
 * reading a block of its value index.
 */

import { OperatingError } from "../../base/errors.ts";
import { ByteBuilder } from "../../columns/byte_builder.ts";
import { writeVarint } from "../../columns/varint.ts";
import { ByteReader } from "./bits.ts";
import { withChecksum } from "./block_writer.ts";
import type { ColumnValues } from "./collect_values.ts";
import { checkSum } from "./word_block.ts";
import type { IndexBytes, IndexedRows } from "./write_words.ts";

export const FILTER_TYPE = "svc-value-filter-v1";

/** Bits of a value, and how many of them it sets: one absent value in 100 seems to be there. */
const BITS_PER_VALUE = 10;
const PROBES = 7;
/** Bytes of the filters of one file, so that 4,000 files take 64 MiB. */
const FILTER_BYTES_MAX = 16 * 1024;
const VALUES_MAX = FILTER_BYTES_MAX * 8 / BITS_PER_VALUE;

/**
 * Columns with the fewest values first, as many as fit and have a hash of each value; undefined:
 * none do.
 */
export function writeValueFilter(
  columns: readonly ColumnValues[],
  { rows, rowGroupRows }: Pick<IndexedRows, "rows" | "rowGroupRows">,
): IndexBytes & { readonly ids: readonly number[] } | undefined {
  const taken: ColumnValues[] = [];
  let values = 0;
  const hashed = columns.filter(({ rising = [] }) => rising.length === 0);
  for (const column of hashed.toSorted((a, b) => a.hashes.length - b.hashes.length)) {
    values += column.hashes.length;
    if (values > VALUES_MAX) break;
    if (column.hashes.length > 0) taken.push(column);
  }
  if (taken.length === 0) return undefined;
  const count = taken.reduce((sum, { hashes }) => sum + hashes.length, 0);
  const bits = new Uint8Array(Math.ceil(count * BITS_PER_VALUE / 8));
  for (const { hashes } of taken) {
    for (const hash of hashes) {
      for (let probe = 0; probe < PROBES; probe += 1) {
        const bit = bitOf(hash, probe, bits.length * 8);
        bits[bit >> 3] = (bits[bit >> 3] as number) | 1 << (bit & 7);
      }
    }
  }
  const ids = taken.map(({ id }) => id);
  const blob = new ByteBuilder();
  writeVarint(blob, rows);
  writeVarint(blob, rowGroupRows);
  writeVarint(blob, ids.length);
  for (const { id, kind } of taken) {
    writeVarint(blob, id);
    blob.byte(kind);
  }
  blob.append(bits);
  const bytes = withChecksum(blob.take());
  return { bytes, headerBytes: bytes.byteLength, ids };
}

export class ValueFilter {
  readonly rows: number;
  readonly rowGroupRows: number;
  /** What the columns hold whose values are in it, one of `COLUMN_…`, by id. */
  readonly columns: ReadonlyMap<number, number>;
  /** Bytes of memory that it takes. */
  readonly byteLength: number;
  readonly #bits: Uint8Array;

  /** From the whole blob. Errors: `corrupt`. */
  constructor(bytes: Uint8Array) {
    checkSum(bytes, "a filter of values");
    const reader = new ByteReader(bytes, 4);
    this.rows = reader.varint();
    this.rowGroupRows = reader.varint();
    const columns = new Map<number, number>();
    for (let left = reader.varint(); left > 0; left -= 1) {
      columns.set(reader.varint(), reader.byte());
    }
    this.columns = columns;
    this.#bits = bytes.subarray(reader.at);
    this.byteLength = 256 + bytes.length;
    if (this.#bits.length === 0 || this.rowGroupRows === 0) {
      throw new OperatingError("corrupt", "Cannot read a filter of values: it has no bits");
    }
  }

  /** Whether a value of this hash, which has its column in it, may be in the file. */
  mayHold(hash: number): boolean {
    const count = this.#bits.length * 8;
    for (let probe = 0; probe < PROBES; probe += 1) {
      const bit = bitOf(hash, probe, count);
      if (((this.#bits[bit >> 3] as number) & 1 << (bit & 7)) === 0) return false;
    }
    return true;
  }
}

/** Two hashes of one make all probes. */
function bitOf(hash: number, probe: number, count: number): number {
  const sum = (hash + Math.imul(probe, Math.imul(hash, 0x9e3779b1) | 1)) >>> 0;
  // The remainder: `%` of numbers past 2^31 is a call.
  return sum - Math.floor(sum / count) * count;
}
