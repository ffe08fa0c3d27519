/**
 * A thread behind `ThreadedUploads`: each request is one object of one store, and several may be
 * under way.
 */

import { isOperatingError } from "../base/errors.ts";
import { serveTasks } from "../os/serve_tasks.ts";
import { openS3Store } from "./s3_store.ts";
import type { ObjectStore } from "./object_store.ts";
import type { Upload, UploadOutcome } from "./threaded_uploads.ts";

let store: ObjectStore | undefined;

serveTasks(async ({ to, key, bytes }: Upload): Promise<{ value: UploadOutcome }> => {
  store ??= openS3Store(...to);
  try {
    await store.putNew(key, bytes);
    return { value: undefined };
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    const { code, message, reason, retryAfterSecs, place } = error;
    const options = {
      ...(reason === undefined ? {} : { reason }),
      ...(retryAfterSecs === undefined ? {} : { retryAfterSecs }),
      ...(place === undefined ? {} : { place }),
    };
    return { value: { code, message, options } };
  }
});
