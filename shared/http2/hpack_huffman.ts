/** Decodes the Huffman code of HPACK: RFC 7541, section 5.2. */

import { ConnectionError, Http2ErrorCode } from "./frames.ts";
import { HUFFMAN_LENGTHS } from "./hpack_tables.ts";

const END_OF_STRING = HUFFMAN_LENGTHS.length - 1;

/** Two children for each node: the index of another node, or below zero `~symbol`. */
const TREE = buildTree();

/** The bytes that `coded` stands for. Errors: `ConnectionError` for a code that is none. */
export function decodeHuffman(coded: Uint8Array): Uint8Array {
  // No code is shorter than five bits.
  const decoded = new Uint8Array(Math.ceil(coded.byteLength * 8 / 5));
  let length = 0;
  let node = 0;
  let depth = 0;
  let onesOnly = true;
  for (const byte of coded) {
    for (let bit = 7; bit >= 0; bit--) {
      const side = byte >> bit & 1;
      const next = TREE[2 * node + side] ?? 0;
      depth += 1;
      onesOnly &&= side === 1;
      if (next >= 0) {
        node = next;
        continue;
      }
      if (~next === END_OF_STRING) throw broken("it holds the end-of-string symbol");
      decoded[length++] = ~next;
      node = 0;
      depth = 0;
      onesOnly = true;
    }
  }
  if (depth > 7 || !onesOnly) throw broken("its padding is not that of a last byte");
  return decoded.subarray(0, length);
}

function buildTree(): Int16Array {
  const symbols = HUFFMAN_LENGTHS.map((_, symbol) => symbol)
    .sort((a, b) => (HUFFMAN_LENGTHS[a] ?? 0) - (HUFFMAN_LENGTHS[b] ?? 0) || a - b);
  const tree = new Int16Array(2 * END_OF_STRING);
  let nodes = 1;
  let code = 0;
  let codeLength = 0;
  for (const symbol of symbols) {
    const length = HUFFMAN_LENGTHS[symbol] ?? 0;
    code = codeLength === 0 ? 0 : (code + 1) * 2 ** (length - codeLength);
    codeLength = length;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const at = 2 * node + (code >>> bit & 1);
      if (tree[at] === 0) tree[at] = nodes++;
      node = tree[at] ?? 0;
    }
    tree[2 * node + (code & 1)] = ~symbol;
  }
  return tree;
}

function broken(why: string): ConnectionError {
  return new ConnectionError(
    Http2ErrorCode.COMPRESSION_ERROR,
    `a Huffman-coded text is broken: ${why}`,
  );
}
