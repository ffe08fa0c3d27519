/**
 * Packs segments beside the caller, whose thread has requests to serve. One thread lets all others
 * run first. Another does not, for what has waited too long.
 */

import { getLogger } from "@logtape/logtape";
import { TaskThread } from "../../os/task_thread.ts";
import { yieldingRefusal } from "../../os/thread_priority.ts";
import type { PackRequest } from "./pack_worker.ts";
import type { PackedSegment } from "./packed_segment.ts";

export interface SegmentPacker extends Disposable {
  /** False once it is known that nothing can be packed. */
  readonly isAvailable: boolean;
  /**
   * The file at `path`; undefined when it is gone. One that is not `isUrgent` may take as long as
   * the machine has other things to do. Errors: `ThreadUnavailable`; an `Error` of the file system.
   */
  packFile(
    path: string,
    options: { readonly isUrgent: boolean },
  ): Promise<PackedSegment | undefined>;
}

const CATEGORY = ["svc", "wal", "mirror"] as const;

/** A packer whose threads start with the first segment of each and end when it is disposed of. */
export function openSegmentPacker(): SegmentPacker {
  return new ThreadPacker();
}

class ThreadPacker implements SegmentPacker {
  readonly #prompt = packingThread();
  /** Undefined where no thread can have a priority of its own. */
  readonly #patient: PackingThread | undefined;

  constructor() {
    if (!this.#prompt.isAvailable) return;
    const refusal = yieldingRefusal();
    if (refusal === undefined) this.#patient = packingThread();
    else {
      getLogger([...CATEGORY]).info(
        "segments are packed for the mirror at the priority of requests: {refusal}",
        { refusal },
      );
    }
  }

  get isAvailable(): boolean {
    return this.#prompt.isAvailable;
  }

  packFile(
    path: string,
    { isUrgent }: { readonly isUrgent: boolean },
  ): Promise<PackedSegment | undefined> {
    if (isUrgent || this.#patient === undefined) return this.#prompt.run({ path, yields: false });
    return this.#patient.run({ path, yields: true });
  }

  [Symbol.dispose](): void {
    this.#prompt[Symbol.dispose]();
    this.#patient?.[Symbol.dispose]();
  }
}

type PackingThread = TaskThread<PackRequest, PackedSegment | undefined>;

function packingThread(): PackingThread {
  return new TaskThread(new URL("./pack_worker.ts", import.meta.url), {
    what: "packs segments for the mirror",
    category: CATEGORY,
  });
}
