/**
 * Snappy bodies that are decoded while they arrive, as blocks or framed.
 *
 * Invariants: the decoder's room is charged to the hold before it is taken; of a block that is all
 * of its output. Others get a turn after each MiB, of input or of output.
 */

import { concatBytes } from "../base/bytes.ts";
import { othersTurn } from "../base/others_turn.ts";
import type { ByteHold } from "../base/byte_budget.ts";
import { SnappyBlock } from "./snappy_block.ts";
import { isFramed, SNAPPY_FRAMES_BYTES, SnappyFrames, STREAM_IDENTIFIER } from "./snappy_frames.ts";

/** How much of the input is decoded at once: 21 times as much may come of it. */
const INPUT_BYTES_MAX = 16 * 1024;
/** Pieces of the output. */
const OUTPUT_BYTES_MAX = 64 * 1024;
const TURN_BYTES = 1024 * 1024;

export interface InflateSnappyOptions {
  /** `snappy` or `x-snappy-framed`. */
  readonly name: string;
  readonly hold: ByteHold | undefined;
  /**
   * Told the length that a block announces, before any of it is decoded. Errors end the decoding.
   */
  readonly announce: (bytes: number) => void;
}

/**
 * Decoded pieces, none empty. Errors: those of `wire`, of the hold and of `announce`, and the
 * decoders'.
 */
export async function* inflateSnappy(
  wire: AsyncIterable<Uint8Array>,
  { name, hold, announce }: InflateSnappyOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  let begun: Uint8Array = new Uint8Array(0);
  let decoder: Decoder | undefined = name === "snappy" ? undefined : new FramesDecoder(hold);
  let sinceTurn = 0;
  try {
    for await (const bytes of wire) {
      let input = bytes;
      if (decoder === undefined) {
        input = concatBytes([begun, bytes]);
        begun = input;
        if (input.length < STREAM_IDENTIFIER.length) continue;
        decoder = decoderOf(input, { hold, announce });
      }
      for (let at = 0; at < input.length; at += INPUT_BYTES_MAX) {
        const part = input.subarray(at, at + INPUT_BYTES_MAX);
        sinceTurn += part.length;
        for (const piece of decoder.decode(part)) {
          yield piece;
          sinceTurn += piece.length;
        }
        if (sinceTurn < TURN_BYTES) continue;
        await othersTurn();
        sinceTurn = 0;
      }
    }
    if (decoder === undefined) {
      decoder = decoderOf(begun, { hold, announce });
      yield* decoder.decode(begun);
    }
    decoder.finish();
  } finally {
    decoder?.[Symbol.dispose]();
  }
}

interface Decoder extends Disposable {
  decode(input: Uint8Array): Iterable<Uint8Array>;
  finish(): void;
}

function decoderOf(
  start: Uint8Array,
  options: Pick<InflateSnappyOptions, "hold" | "announce">,
): Decoder {
  return isFramed(start) ? new FramesDecoder(options.hold) : new BlockDecoder(options);
}

class FramesDecoder implements Decoder {
  readonly #frames = new SnappyFrames();
  readonly #hold: ByteHold | undefined;

  constructor(hold: ByteHold | undefined) {
    hold?.grow(SNAPPY_FRAMES_BYTES);
    this.#hold = hold;
  }

  decode(input: Uint8Array): Iterable<Uint8Array> {
    return this.#frames.decode(input);
  }

  finish(): void {
    this.#frames.finish();
  }

  [Symbol.dispose](): void {
    this.#hold?.shrink(SNAPPY_FRAMES_BYTES);
  }
}

class BlockDecoder implements Decoder {
  readonly #block: SnappyBlock;
  readonly #hold: ByteHold | undefined;
  #held = 0;

  constructor({ hold, announce }: Pick<InflateSnappyOptions, "hold" | "announce">) {
    this.#hold = hold;
    this.#block = new SnappyBlock({
      announce,
      grow: (bytes) => {
        hold?.grow(bytes);
        this.#held += bytes;
      },
    });
  }

  *decode(input: Uint8Array): Generator<Uint8Array, void, undefined> {
    this.#block.push(input);
    const output = this.#block.take();
    for (let at = 0; at < output.length; at += OUTPUT_BYTES_MAX) {
      yield output.subarray(at, at + OUTPUT_BYTES_MAX);
    }
  }

  finish(): void {
    this.#block.finish();
  }

  [Symbol.dispose](): void {
    this.#hold?.shrink(this.#held);
  }
}
