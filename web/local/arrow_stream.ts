/** Arrow IPC: DuckDB in the page gives files and takes streams. */

const MAGIC = new TextEncoder().encode("ARROW1");
/** Magic and padding before the stream that a file holds. */
const HEAD_BYTES = 8;
/** Length of the footer and magic, after the footer. */
const TAIL_BYTES = 4 + MAGIC.byteLength;

/** Returns the stream that a file holds, without its footer; a stream stays itself. */
export function arrowStream(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (!MAGIC.every((byte, at) => bytes[at] === byte)) return bytes;
  const tail = bytes.byteLength - TAIL_BYTES;
  const footerBytes = new DataView(bytes.buffer, bytes.byteOffset + tail).getUint32(0, true);
  return bytes.subarray(HEAD_BYTES, tail - footerBytes);
}
