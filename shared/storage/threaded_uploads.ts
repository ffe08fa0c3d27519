/**
 * A store in S3 whose objects are signed and sent by a thread of their own. Signing and sending
 * take 2.8 ms and 2.3 ms a megabyte of the thread that does it, which a server needs for requests.
 */

import { type ErrorCode, OperatingError, type OperatingErrorOptions } from "../base/errors.ts";
import { TaskThread, ThreadUnavailable } from "../os/task_thread.ts";
import { LazyStore } from "./lazy_store.ts";
import type { ObjectStore } from "./object_store.ts";
import type { openS3Store } from "./s3_store.ts";

/** What `openS3Store` takes. */
export type S3Target = Parameters<typeof openS3Store>;

export interface Upload {
  readonly to: S3Target;
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** The store's error, as it crosses; undefined when the object is stored. */
export type UploadOutcome =
  | { readonly code: ErrorCode; readonly message: string; readonly options: OperatingErrorOptions }
  | undefined;

export class ThreadedUploads extends LazyStore implements Disposable {
  readonly #to: S3Target;
  readonly #thread = new TaskThread<Upload, UploadOutcome>(
    new URL("./upload_worker.ts", import.meta.url),
    { what: "sends objects to the store", category: ["svc", "storage"], isConcurrent: true },
  );

  /**
   * `open` as `LazyStore` has it: of `to`, for all else, and for objects where there can be no
   * thread.
   */
  constructor(rootUri: string, open: () => Promise<ObjectStore>, to: S3Target) {
    super(rootUri, open);
    this.#to = to;
  }

  override async putNew(key: string, bytes: Uint8Array): Promise<void> {
    const outcome = await this.#send(key, bytes);
    if (outcome === "unavailable") return await super.putNew(key, bytes);
    if (outcome === undefined) return;
    throw new OperatingError(outcome.code, outcome.message, outcome.options);
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }

  async #send(key: string, bytes: Uint8Array): Promise<UploadOutcome | "unavailable"> {
    if (!this.#thread.isAvailable) return "unavailable";
    try {
      return await this.#thread.run({ to: this.#to, key, bytes });
    } catch (error) {
      if (error instanceof ThreadUnavailable) return "unavailable";
      throw error;
    }
  }
}
