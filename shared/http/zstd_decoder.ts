/**
 * Zstandard, piece by piece, on the caller's stack.
 *
 * The runtime's stream (`createZstdDecompress`) throws what it finds wrong with a frame's later
 * output from a tick of its own: no listener hears of it, and the process ends. So the decoder
 * behind the stream is driven here, without the stream. Its shape is Node's (`lib/zlib.js`): a test
 * decodes with it, so another runtime that lacks it is found out.
 */

import { createZstdDecompress } from "node:zlib";

/** What is used of the decoder. */
interface Handle {
  /**
   * Leaves in `writeState` how much of the output is free, and how much of the input is left.
   * Throws what is wrong.
   */
  writeSync(
    flush: number,
    input: Uint8Array,
    inputAt: number,
    inputLength: number,
    output: Uint8Array,
    outputAt: number,
    outputLength: number,
  ): void;
}

interface Internals {
  readonly _handle: Handle;
  readonly _writeState: Uint32Array;
}

const CONTINUE = 0;

/** Decodes one frame. */
export class ZstdDecoder implements Disposable {
  readonly #stream = createZstdDecompress();
  readonly #pieceBytes: number;

  /** `pieceBytes`: of the output, at most. */
  constructor(pieceBytes: number) {
    this.#pieceBytes = pieceBytes;
  }

  /**
   * What comes of the frame's next bytes, each piece in memory of its own. Errors: the decoder's.
   */
  *decode(input: Uint8Array): Generator<Uint8Array, void, undefined> {
    const { _handle: handle, _writeState: state } = this.#stream as unknown as Internals;
    let [at, left] = [0, input.length];
    for (;;) {
      const piece = new Uint8Array(this.#pieceBytes);
      handle.writeSync(CONTINUE, input, at, left, piece, 0, piece.length);
      const [free = 0, rest = 0] = state;
      at += left - rest;
      left = rest;
      if (free < piece.length) yield piece.subarray(0, piece.length - free);
      // With room left nothing more comes of this input.
      if (free > 0) return;
    }
  }

  [Symbol.dispose](): void {
    this.#stream.close();
  }
}
