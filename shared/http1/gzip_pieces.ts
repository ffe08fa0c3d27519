/**
 * An answer in gzip, piece by piece, as one member (RFC 1952). A piece is its blocks of DEFLATE up
 * to an empty one, which ends at a byte: it can be read as soon as it has come. It refers to no
 * other piece, so between pieces two numbers are held instead of a window of 268 KB. Thousands of
 * slow clients cost nothing, and pieces of 128 KiB become 2 % longer.
 *
 * Zstandard would take 0.6 of the time, but its frames cannot be cut like this. As frames of their
 * own the pieces are valid (RFC 8878), and several clients silently stop after the first.
 */

import { constants, crc32, deflateRawSync } from "node:zlib";
import { concatBytes } from "../base/bytes.ts";
import type { Bytes } from "./request_body.ts";

/** A longer piece is cut: coding it would keep every other request waiting. */
export const GZIP_PIECE_BYTES_MAX = 128 * 1024;

/** Higher levels take longer than they save on a link of 100 Mbit/s: docs/measurements/http.md. */
const LEVEL = 2;
const OPTIONS = { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH };

/** No name, no time, an unknown system. */
const HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255);
/** A last block without bytes. */
const LAST_BLOCK = [3, 0];

/** For one answer. */
export class GzipPieces {
  #crc = 0;
  #length = 0;
  #head = HEAD;

  /** Codes the next bytes, each piece of them once the one before was taken. */
  *of(bytes: Bytes): Generator<Uint8Array> {
    for (let at = 0; at < bytes.byteLength; at += GZIP_PIECE_BYTES_MAX) {
      const piece = bytes.subarray(at, at + GZIP_PIECE_BYTES_MAX);
      this.#crc = crc32(piece, this.#crc);
      this.#length += piece.byteLength;
      yield this.#behindHead(deflateRawSync(piece, OPTIONS));
    }
  }

  /** What stands behind the last piece. */
  end(): Uint8Array {
    const end = new Uint8Array(LAST_BLOCK.length + 8);
    end.set(LAST_BLOCK);
    const view = new DataView(end.buffer);
    view.setUint32(LAST_BLOCK.length, this.#crc, true);
    view.setUint32(LAST_BLOCK.length + 4, this.#length % 2 ** 32, true);
    return this.#behindHead(end);
  }

  #behindHead(bytes: Uint8Array): Uint8Array {
    const head = this.#head;
    if (head.byteLength === 0) return bytes;
    this.#head = new Uint8Array(0);
    return concatBytes([head, bytes]);
  }
}

/** All of `bytes` at once. */
export function gzipWhole(bytes: Bytes): Bytes {
  const pieces = new GzipPieces();
  return concatBytes([...pieces.of(bytes), pieces.end()]);
}
