/**
 * Batches made into frames: laid out here, packed and checksummed on a thread beside that of the
 * requests where there is one. Packing is a quarter of what a request of 500 rows costs the thread
 * that serves it; handing its bytes over and back is a third of that.
 */

import { othersTurn } from "../base/others_turn.ts";
import { TaskThread, type ThreadMemory } from "../os/task_thread.ts";
import { BufferPool } from "../base/buffer_pool.ts";
import { finishFrames, frameLengthMax, layFrames, layingFrames } from "./format.ts";
import { PACKED_MESSAGE_BYTES_MIN } from "./packed_message.ts";
import type { WalBatch } from "./types.ts";

/**
 * With fewer frames the message is finished here. Appends do not queue up then, so the thread of
 * the requests has time, and an acknowledgement need not wait for another thread to be scheduled.
 * The p99 was 6.4 ms instead of 7.3 ms at half of the maximum rate on two cores.
 */
const LONG_FRAMES_MIN = 2;
/**
 * So many bytes are handed over all the same: packing takes 3 ms a MiB, in which nobody is
 * answered.
 */
const LONG_BYTES_MIN = 1024 * 1024;

/** Frames in the first `length` of `bytes`, which are a whole buffer. */
export interface FrameBuffer {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly length: number;
}

/** What a thread is given: frames that were laid, and the seed of their checksums. */
export interface LaidFrames extends FrameBuffer {
  readonly frameSeed: number;
}

export type FrameThread = Pick<TaskThread<LaidFrames, FrameBuffer>, "run" | "isAvailable">;

/** A thread that runs once it is first needed. */
export function openFrameThread(memory?: ThreadMemory): TaskThread<LaidFrames, FrameBuffer> {
  return new TaskThread(new URL("./frame_worker.ts", import.meta.url), {
    what: "packs rows for the WAL",
    category: ["svc", "wal"],
    memory,
  });
}

export class FrameEncoder {
  readonly #buffers = new BufferPool();
  readonly #thread: FrameThread | undefined;
  /** Whether it does; it starts with the first frames that are for it. */
  #starts: Promise<boolean> | undefined;
  #runs = false;

  /** Without a thread all is done by the caller's. */
  constructor(thread?: FrameThread) {
    this.#thread = thread;
  }

  /**
   * `batches` as the frames of a segment, to be given back with `release` once they are written.
   */
  async encode(batches: readonly WalBatch[], frameSeed: number): Promise<FrameBuffer> {
    const long = batches.filter(({ byteLength }) => byteLength >= PACKED_MESSAGE_BYTES_MIN);
    const lengthMax = batches.reduce((sum, batch) => sum + frameLengthMax(batch), 0);
    const isTooLong = lengthMax >= LONG_BYTES_MIN && long.length > 0;
    const bytes = this.#buffers.take(lengthMax);
    const length = isTooLong ? await layInTurns(batches, bytes) : layFrames(batches, bytes);
    const laid: LaidFrames = { bytes, length, frameSeed };
    if (long.length < LONG_FRAMES_MIN && !isTooLong) return finished(laid);
    const thread = await this.#runningThread(isTooLong);
    if (thread === undefined) return finished(laid);
    try {
      return await thread.run(laid, [bytes.buffer]);
    } catch {
      // What was handed over is gone with the thread, whose end is logged elsewhere. The batches
      // are still here.
      const again = this.#buffers.take(lengthMax);
      return finished({ bytes: again, length: layFrames(batches, again), frameSeed });
    }
  }

  release({ bytes }: FrameBuffer): void {
    this.#buffers.give(bytes);
  }

  /**
   * Starts it, when it does not run: that takes longer than packing, unless there is much to pack.
   */
  async #runningThread(isWorthWaiting: boolean): Promise<FrameThread | undefined> {
    const thread = this.#thread;
    if (thread?.isAvailable !== true) return undefined;
    const nothing = { bytes: new Uint8Array(0), length: 0, frameSeed: 0 };
    this.#starts ??= thread.run(nothing).then(() => this.#runs = true, () => false);
    return this.#runs || (isWorthWaiting && await this.#starts) ? thread : undefined;
  }
}

/** Lays frames as `layFrames` does. Others get a turn after each few MiB. */
async function layInTurns(batches: readonly WalBatch[], into: Uint8Array): Promise<number> {
  const laying = layingFrames(batches, into);
  for (;;) {
    const { done, value } = laying.next();
    if (done === true) return value;
    await othersTurn();
  }
}

function finished(laid: LaidFrames): FrameBuffer {
  return { bytes: laid.bytes, length: finishFrames(laid.bytes, laid) };
}
