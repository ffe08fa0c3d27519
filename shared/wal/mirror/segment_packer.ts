/** Packs segments beside the caller, whose thread has requests to serve. */

import { TaskThread } from "../../os/task_thread.ts";

/** A file of a segment, packed. */
export interface PackedFile {
  readonly object: Uint8Array<ArrayBuffer>;
  /** Of the segment. */
  readonly bytes: number;
}

export interface SegmentPacker extends Disposable {
  /** False once it is known that nothing can be packed. */
  readonly isAvailable: boolean;
  /** The file at `path`; undefined when it is gone. Errors: `ThreadUnavailable`; an `Error` of the file system. */
  packFile(path: string): Promise<PackedFile | undefined>;
}

/** A packer whose thread starts with its first segment and ends when it is disposed of. */
export function openSegmentPacker(): SegmentPacker {
  return new ThreadPacker();
}

class ThreadPacker implements SegmentPacker {
  readonly #thread = new TaskThread<string, PackedFile | undefined>(
    new URL("./pack_worker.ts", import.meta.url),
    { what: "packs segments for the mirror", category: ["svc", "wal", "mirror"] },
  );

  get isAvailable(): boolean {
    return this.#thread.isAvailable;
  }

  packFile(path: string): Promise<PackedFile | undefined> {
    return this.#thread.run(path);
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}
