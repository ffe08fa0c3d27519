/**
 * Where the frames of a Zstandard stream end (RFC 8878 section 3.1), read from headers only.
 *
 * The runtime's decoder stops in silence at the end of the first frame and at a torn end, so that a
 * cut body would count as a shorter valid one. Callers decode frame by frame, each known to be
 * whole.
 */

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC_MIN = 0x184d2a50;
const SKIPPABLE_MAGIC_MAX = 0x184d2a5f;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const BLOCK_TYPE_RLE = 1;
const BLOCK_TYPE_RESERVED = 3;

/**
 * Whole data frames of `bytes` in order, skippable ones left out; undefined when it is torn or no
 * Zstandard.
 */
export function zstdFrames(bytes: Uint8Array): Uint8Array[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const frames: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (at + 4 > bytes.length) return undefined;
    const magic = view.getUint32(at, true);
    const skippable = magic >= SKIPPABLE_MAGIC_MIN && magic <= SKIPPABLE_MAGIC_MAX;
    if (!skippable && magic !== MAGIC) return undefined;
    const end = skippable ? skippableEnd(view, at) : frameEnd(view, at);
    if (end === undefined || end > bytes.length) return undefined;
    if (!skippable) frames.push(bytes.subarray(at, end));
    at = end;
  }
  return frames.length === 0 ? undefined : frames;
}

function skippableEnd(view: DataView, start: number): number | undefined {
  if (start + 8 > view.byteLength) return undefined;
  return start + 8 + view.getUint32(start + 4, true);
}

function frameEnd(view: DataView, start: number): number | undefined {
  if (start + 5 > view.byteLength) return undefined;
  const descriptor = view.getUint8(start + 4);
  const singleSegment = (descriptor & 0x20) !== 0;
  const contentSizeFlag = descriptor >> 6;
  let contentSizeBytes = CONTENT_SIZE_BYTES[contentSizeFlag] ?? 0;
  if (contentSizeFlag === 0 && singleSegment) contentSizeBytes = 1;
  const windowBytes = singleSegment ? 0 : 1;
  const dictionaryBytes = DICTIONARY_ID_BYTES[descriptor & 3] ?? 0;
  let at = start + 5 + windowBytes + dictionaryBytes + contentSizeBytes;
  for (let last = false; !last;) {
    if (at + 3 > view.byteLength) return undefined;
    const header = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    last = (header & 1) === 1;
    const type = (header >> 1) & 3;
    if (type === BLOCK_TYPE_RESERVED) return undefined;
    at += 3 + (type === BLOCK_TYPE_RLE ? 1 : header >> 3);
  }
  const checksumBytes = (descriptor & 4) !== 0 ? 4 : 0;
  return at + checksumBytes;
}
