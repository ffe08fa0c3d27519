/**
 * CRC-32C (Castagnoli), the checksum of framed Snappy: RFC 3720 appendix B.4. The runtime has the
 * other CRC-32 only.
 */

/** Reflected. */
const POLYNOMIAL = 0x82f63b78;
/** Bytes taken at once: a table for the place of each. */
const SLICES = 8;

/** Returns the CRC-32C of `bytes` as an unsigned integer of 32 bits. */
export function crc32c(bytes: Uint8Array): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wholeEnd = bytes.length - (bytes.length % SLICES);
  let crc = -1;
  let at = 0;
  for (; at < wholeEnd; at += SLICES) {
    const low = crc ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    crc = entry(t7, low) ^ entry(t6, low >>> 8) ^ entry(t5, low >>> 16) ^ entry(t4, low >>> 24) ^
      entry(t3, high) ^ entry(t2, high >>> 8) ^ entry(t1, high >>> 16) ^ entry(t0, high >>> 24);
  }
  for (; at < bytes.length; at += 1) crc = entry(t0, crc ^ view.getUint8(at)) ^ (crc >>> 8);
  return ~crc >>> 0;
}

type Table = Int32Array;

function entry(table: Table, index: number): number {
  return table[index & 0xff] as number;
}

const TABLES = makeTables();

function makeTables(): readonly [Table, Table, Table, Table, Table, Table, Table, Table] {
  const all = Array.from({ length: SLICES }, () => new Int32Array(256));
  const [first] = all as [Table];
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    first[byte] = crc;
  }
  for (let slice = 1; slice < SLICES; slice += 1) {
    const [before, table] = all.slice(slice - 1) as [Table, Table];
    for (let byte = 0; byte < 256; byte += 1) {
      const crc = entry(before, byte);
      table[byte] = entry(first, crc) ^ (crc >>> 8);
    }
  }
  return all as [Table, Table, Table, Table, Table, Table, Table, Table];
}
