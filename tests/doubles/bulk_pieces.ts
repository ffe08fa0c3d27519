/** For tests: bodies that arrive in pieces. */

export async function* arriving(
  pieces: Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (const piece of pieces) yield await Promise.resolve(piece);
}

/** `bytes` in pieces of `sizes`, over and over. */
export function* cutInPieces(
  bytes: Uint8Array,
  sizes: readonly number[],
): Generator<Uint8Array, void, undefined> {
  let at = 0;
  for (let i = 0; at < bytes.length; i += 1) {
    const end = at + (sizes[i % sizes.length] ?? bytes.length);
    yield bytes.subarray(at, end);
    at = end;
  }
}
