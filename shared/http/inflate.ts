/**
 * `Content-Encoding` of a body that is decoded while it arrives: the same encodings as
 * `content_encoding.ts`, which decodes whole ones.
 *
 * Invariants: whatever the compressed bytes claim, it holds one piece of the input, one of the
 * output, and what the decoder needs. All of that is charged to the hold meanwhile. A cut body is
 * an error, and so is one with bytes behind its end.
 */

import { pipeline } from "node:stream";
import {
  createGunzip,
  createInflate,
  createZstdDecompress,
  type Gunzip,
  type Inflate,
} from "node:zlib";
import { formatBytes } from "../base/bytes.ts";
import { othersTurn } from "../base/others_turn.ts";
import type { ByteHold } from "../base/byte_budget.ts";
import { type BodyCap, bodyTooLarge } from "./body_too_large.ts";
import { requireNothingBehind } from "./content_encoding.ts";
import { inflateSnappy } from "./inflate_snappy.ts";
import { type ZstdRun, ZstdSplitter } from "./zstd_splitter.ts";

/** Pieces of the output. */
const OUTPUT_BYTES_MAX = 64 * 1024;
/** A piece of output, and what zlib documents as the needs of `inflate`: 44 KiB. */
const ZLIB_BYTES = OUTPUT_BYTES_MAX + 44 * 1024;
/**
 * What a Zstandard decoder needs besides a frame's window and two blocks: the output and 96 KiB of
 * tables.
 */
const ZSTD_BYTES = OUTPUT_BYTES_MAX + 96 * 1024;
const ZSTD_BLOCK_BYTES_MAX = 128 * 1024;
/** Most that a Zstandard frame may have its decoder keep: what RFC 9659 has senders stay within. */
const ZSTD_WINDOW_BYTES_MAX = 8 * 1024 * 1024;

export interface InflateOptions {
  /** Charged with what the decoder needs while it runs. */
  readonly hold?: ByteHold | undefined;
  /** Where a body announces its decoded length, it is refused before any of it is decoded. */
  readonly cap?: BodyCap;
}

/**
 * The decoded pieces of `wire`, whose encoding is `name` as `requireKnownEncoding` gives it.
 * Errors: those of `wire`, the hold's, `too_large`, and the decoder's as they are.
 */
export function inflate(
  wire: AsyncIterable<Uint8Array>,
  name: string,
  { hold, cap }: InflateOptions = {},
): AsyncIterable<Uint8Array> {
  switch (name) {
    case "gzip":
    case "x-gzip":
      return decoded(wire, { decoder: () => createGunzip(OPTIONS), bytes: ZLIB_BYTES, hold });
    case "deflate":
      return decoded(wire, { decoder: () => createInflate(OPTIONS), bytes: ZLIB_BYTES, hold });
    case "zstd":
      return inflateZstd(wire, hold);
    case "snappy":
    case "x-snappy-framed":
      return inflateSnappy(wire, {
        name,
        hold,
        announce: (bytes) => {
          if (cap !== undefined && bytes > cap.bytesMax) {
            throw bodyTooLarge(cap, { decompressed: true });
          }
        },
      });
    default:
      return wire;
  }
}

const OPTIONS = { chunkSize: OUTPUT_BYTES_MAX } as const;

interface DecodeOptions {
  readonly decoder: () => Gunzip | Inflate;
  /** What it needs. */
  readonly bytes: number;
  readonly hold: ByteHold | undefined;
}

async function* decoded(
  input: AsyncIterable<Uint8Array>,
  { decoder, bytes, hold }: DecodeOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const source = input[Symbol.asyncIterator]();
  const stream = decoder();
  let taken = 0;
  const read = async () => {
    const next = await source.next();
    taken += next.done ? 0 : next.value.byteLength;
    return next;
  };
  hold?.grow(bytes);
  try {
    yield* pipeline(withTurns(read), stream, NOBODY_ELSE);
    // The decoder ends where its data does, whatever is still to come. So the end of the input is
    // waited for: a body that is acknowledged is all there.
    while (!(await read()).done);
    requireNothingBehind({ given: taken, read: stream.bytesWritten });
  } finally {
    // Not waited for: the source may be waiting for a sender that is slow.
    source.return?.()?.catch(NOBODY_ELSE);
    hold?.shrink(bytes);
  }
}

/** The pipeline tells its reader of errors as well. */
const NOBODY_ELSE = () => {};

/**
 * Bytes of input before others get a turn: members that hold next to nothing take their time and
 * bring no output, at which others would.
 */
const INPUT_WITHOUT_PAUSE_MAX = 1024 * 1024;

async function* withTurns(
  read: () => Promise<IteratorResult<Uint8Array, unknown>>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let sinceTurn = 0;
  for (let next = await read(); !next.done; next = await read()) {
    if (sinceTurn >= INPUT_WITHOUT_PAUSE_MAX) {
      await othersTurn();
      sinceTurn = 0;
    }
    yield next.value;
    sinceTurn += next.value.byteLength;
  }
}

/** Bytes of output before others get a turn: a few bytes can stand for gigabytes. */
const OUTPUT_WITHOUT_PAUSE_MAX = 1024 * 1024;
/** Blocks of Zstandard before others do: many can stand for next to nothing. */
const RUNS_WITHOUT_PAUSE_MAX = 256;

/**
 * Decodes a frame that comes block by block. The runtime's stream tells its reader of a mistake
 * that it meets in a write before it has filled a piece of output. A mistake behind that it throws
 * where nobody can catch it, and the process ends. A block is decoded before any of it is given
 * out, so each write must bring one block.
 */
async function* decodedFrame(
  frame: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let sinceTurn = 0;
  for await (const piece of pipeline(frame, createZstdDecompress(OPTIONS), NOBODY_ELSE)) {
    yield piece;
    sinceTurn += piece.byteLength;
    if (sinceTurn < OUTPUT_WITHOUT_PAUSE_MAX) continue;
    await othersTurn();
    sinceTurn = 0;
  }
}

/**
 * A decoder for each frame: the runtime's takes the end of the first one, or of the input, for the
 * end.
 */
async function* inflateZstd(
  wire: AsyncIterable<Uint8Array>,
  hold: ByteHold | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const runs = zstdRuns(wire);
  for (let first = await runs.next(); !first.done; first = await runs.next()) {
    const windowBytes = first.value.head?.windowBytes ?? 0;
    if (windowBytes > ZSTD_WINDOW_BYTES_MAX) throw new Error(tooWide(windowBytes));
    const bytes = ZSTD_BYTES + windowBytes + 2 * Math.min(windowBytes, ZSTD_BLOCK_BYTES_MAX);
    hold?.grow(bytes);
    try {
      yield* decodedFrame(oneFrame(first.value, runs));
    } finally {
      hold?.shrink(bytes);
    }
  }
}

async function* zstdRuns(
  wire: AsyncIterable<Uint8Array>,
): AsyncGenerator<ZstdRun, void, undefined> {
  const splitter = new ZstdSplitter();
  for await (const chunk of wire) yield* splitter.split(chunk);
  splitter.finish();
}

async function* oneFrame(
  first: ZstdRun,
  further: AsyncGenerator<ZstdRun, void, undefined>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield first.bytes;
  for (let [isEnd, runs] = [first.isEnd, 1]; !isEnd; runs += 1) {
    if (runs % RUNS_WITHOUT_PAUSE_MAX === 0) await othersTurn();
    const next = await further.next();
    if (next.done) return;
    yield next.value.bytes;
    isEnd = next.value.isEnd;
  }
}

function tooWide(windowBytes: number): string {
  return `its window of ${formatBytes(windowBytes)} is wider than ` +
    `${formatBytes(ZSTD_WINDOW_BYTES_MAX)}`;
}
