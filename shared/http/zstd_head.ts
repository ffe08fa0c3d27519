/** The head of a Zstandard or skippable frame (RFC 8878 section 3.1), up to the first block. */

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC_MIN = 0x184d2a50;
const SKIPPABLE_MAGIC_MAX = 0x184d2a5f;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];

/** This many bytes tell how long a head is; no frame is shorter. */
export const HEAD_BYTES_MIN = 5;
/** Magic number, descriptor, window, dictionary id, content size. */
export const HEAD_BYTES_MAX = 4 + 1 + 1 + 4 + 8;

export interface ZstdHead {
  readonly byteLength: number;
  /**
   * Bytes that follow the head of a skippable frame, which has no blocks; undefined for a data
   * frame.
   */
  readonly skippedBytes: number | undefined;
  /** What a decoder keeps of the frame's output while it decodes. */
  readonly windowBytes: number;
  /** The blocks are followed by a checksum. */
  readonly hasChecksum: boolean;
}

/**
 * Length of the head at `at`, of which `HEAD_BYTES_MIN` must be there; undefined when none begins
 * there.
 */
export function zstdHeadBytes(view: DataView, at: number): number | undefined {
  const magic = view.getUint32(at, true);
  if (magic >= SKIPPABLE_MAGIC_MIN && magic <= SKIPPABLE_MAGIC_MAX) return 8;
  if (magic !== MAGIC) return undefined;
  const descriptor = view.getUint8(at + 4);
  const windowBytes = isSingleSegment(descriptor) ? 0 : 1;
  return 5 + windowBytes + dictionaryIdBytes(descriptor) + contentSizeBytes(descriptor);
}

/** The head at `at`, whose `zstdHeadBytes` are all there. */
export function zstdHeadAt(view: DataView, at: number): ZstdHead {
  const byteLength = zstdHeadBytes(view, at) ?? 0;
  if (view.getUint32(at, true) !== MAGIC) {
    const skippedBytes = view.getUint32(at + 4, true);
    return { byteLength, skippedBytes, windowBytes: 0, hasChecksum: false };
  }
  const descriptor = view.getUint8(at + 4);
  return {
    byteLength,
    skippedBytes: undefined,
    windowBytes: isSingleSegment(descriptor)
      ? contentSize(view, { at: at + byteLength, descriptor })
      : windowOf(view.getUint8(at + 5)),
    hasChecksum: (descriptor & 4) !== 0,
  };
}

function isSingleSegment(descriptor: number): boolean {
  return (descriptor & 0x20) !== 0;
}

function dictionaryIdBytes(descriptor: number): number {
  return DICTIONARY_ID_BYTES[descriptor & 3] ?? 0;
}

function contentSizeBytes(descriptor: number): number {
  const flag = descriptor >> 6;
  if (flag === 0 && isSingleSegment(descriptor)) return 1;
  return CONTENT_SIZE_BYTES[flag] ?? 0;
}

/** The content size that ends at `at`. */
function contentSize(
  view: DataView,
  { at, descriptor }: { at: number; descriptor: number },
): number {
  switch (contentSizeBytes(descriptor)) {
    case 1:
      return view.getUint8(at - 1);
    case 2:
      return view.getUint16(at - 2, true) + 256;
    case 4:
      return view.getUint32(at - 4, true);
    default:
      return Number(view.getBigUint64(at - 8, true));
  }
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}
