/**
 * Reads the answer of a worker: an Arrow stream in zstd, with the shard's `stats` as JSON behind
 * its end. Its rows become Parquet files of some MiB. An answer that does not come to its end is
 * an error, whatever came before.
 */

import { zstdDecompressSync } from "node:zlib";
import { z } from "zod";
import { concatBytes, textOf, viewOf } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import {
  bodyBytesOf,
  CONTINUATION,
  HEADER_RECORD_BATCH,
  PREFIX_BYTES,
  readMessage,
} from "../../shared/columns/ipc_message.ts";
import { ARROW_END } from "../../shared/engine/answer/arrow_message.ts";
import type { ReceivedRows } from "../../shared/engine/shards/received_rows.ts";
import type { ReceivedFile } from "../../shared/engine/shards/shard.ts";
import { ZstdSplitter } from "../../shared/http/zstd_splitter.ts";

/** A longer message, or a longer text behind the stream, is none of ours. */
const MESSAGE_BYTES_MAX = 512 * 1024 * 1024;
const TAIL_BYTES_MAX = 64 * 1024;
/** Most frames unpack to less: `FRAME_BYTES` of `sql/zstd_frames.ts`, and what ended one. */
const UNPACKED_BYTES = 512 * 1024;
/** Slot of `RecordBatch.length`. */
const BATCH_LENGTH = 0;

/** What a worker measured, as far as it is summed up. */
const MEASURED = z.object({
  rows_scanned: z.number(),
  bytes_scanned: z.number(),
  spill_bytes: z.number(),
  scan: z.record(z.string(), z.unknown()).optional(),
});
export type ShardStats = z.infer<typeof MEASURED>;

/** The rows of a shard. */
export interface ShardRows {
  readonly files: readonly ReceivedFile[];
  readonly rows: number;
  readonly stats: ShardStats;
}

/** Errors: `unavailable` for an answer cut short, `corrupt`, those of `ReceivedRows.keep`. */
export async function readShardStream(
  body: ReadableStream<Uint8Array>,
  { received, bytesAhead, signal }: {
    readonly received: ReceivedRows;
    /** Bytes of Arrow that become a file at once. */
    readonly bytesAhead: number;
    readonly signal: AbortSignal;
  },
): Promise<ShardRows> {
  const keeper = new RowKeeper(received, bytesAhead);
  const messages = new Messages();
  for await (const piece of decompressed(body, signal)) {
    for (const message of messages.read(piece)) await keeper.add(message);
  }
  const tail = messages.tail();
  return { ...await keeper.end(), stats: MEASURED.parse(JSON.parse(tail)) };
}

/** Arrow messages of a shard, which become files as they come. */
export class RowKeeper {
  readonly #files: ReceivedFile[] = [];
  #schema: Uint8Array | undefined;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #heldRows = 0;
  #rows = 0;

  constructor(private readonly received: ReceivedRows, private readonly bytesAhead: number) {}

  /** The schema's message comes first. */
  async add(message: Uint8Array): Promise<void> {
    if (this.#schema === undefined) {
      this.#schema = message;
      return;
    }
    const { header } = readMessage(message, HEADER_RECORD_BATCH);
    const rows = header.count(BATCH_LENGTH);
    if (rows === 0) return;
    this.#held.push(message);
    this.#heldBytes += message.byteLength;
    this.#heldRows += rows;
    if (this.#heldBytes >= this.bytesAhead) await this.#keep();
  }

  async end(): Promise<Pick<ShardRows, "files" | "rows">> {
    if (this.#heldRows > 0) await this.#keep();
    return { files: this.#files, rows: this.#rows };
  }

  async #keep(): Promise<void> {
    const stream = concatBytes([this.#schema ?? new Uint8Array(), ...this.#held, ARROW_END]);
    const rows = this.#heldRows;
    this.#held = [];
    this.#heldBytes = 0;
    this.#heldRows = 0;
    this.#rows += rows;
    this.#files.push(await this.received.keep(stream, rows));
  }
}

/** Cuts bytes into messages; what is behind the stream's end is its tail. */
class Messages {
  #rest = new Uint8Array();
  #isOver = false;

  *read(piece: Uint8Array): Generator<Uint8Array> {
    this.#rest = this.#rest.byteLength === 0
      ? Uint8Array.from(piece)
      : concatBytes([this.#rest, piece]);
    while (!this.#isOver) {
      const length = this.#messageBytes();
      if (length === undefined) return;
      const message = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      if (length === PREFIX_BYTES) this.#isOver = true;
      else yield message;
    }
    if (this.#rest.byteLength > TAIL_BYTES_MAX) throw corrupt("what is behind it is too long");
  }

  tail(): string {
    if (this.#isOver && this.#rest.byteLength > 0) return textOf(this.#rest);
    throw new OperatingError("unavailable", "Cannot use a shard: its answer was cut short", {
      reason: "shard_cut_short",
    });
  }

  /** Bytes of the first message; undefined: not all of it is here. */
  #messageBytes(): number | undefined {
    const rest = this.#rest;
    if (rest.byteLength < PREFIX_BYTES) return undefined;
    const view = viewOf(rest);
    const metadataBytes = view.getInt32(4, true);
    if (view.getUint32(0, true) !== CONTINUATION || metadataBytes < 0) {
      throw corrupt("there is no message where one begins");
    }
    if (metadataBytes === 0) return PREFIX_BYTES;
    const bodyAt = PREFIX_BYTES + metadataBytes;
    if (bodyAt > MESSAGE_BYTES_MAX) throw corrupt("a message is too long");
    if (rest.byteLength < bodyAt) return undefined;
    const end = bodyAt + bodyBytesOf(rest.subarray(PREFIX_BYTES, bodyAt));
    if (end > MESSAGE_BYTES_MAX) throw corrupt("a message is too long");
    return rest.byteLength < end ? undefined : end;
  }
}

/**
 * Each frame is unpacked when it is whole: the runtime's stream takes the end of a frame for the
 * end of all.
 */
async function* decompressed(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const splitter = new ZstdSplitter({ framesMax: Infinity, runsMax: Infinity });
  let runs: Uint8Array[] = [];
  signal.throwIfAborted();
  for await (const piece of body) {
    for (const { bytes, isEnd } of splitter.split(piece)) {
      runs.push(bytes);
      if (!isEnd) continue;
      yield zstdDecompressSync(concatBytes(runs), {
        chunkSize: UNPACKED_BYTES,
        maxOutputLength: 2 * MESSAGE_BYTES_MAX,
      });
      runs = [];
    }
    signal.throwIfAborted();
  }
}

function corrupt(what: string): OperatingError {
  return new OperatingError("corrupt", `Cannot read a shard's rows: ${what}`);
}
