/** Code of the page that is loaded when it is first needed. */

import { RequestError } from "./request.ts";
import { untilBack } from "./server_state.ts";

/** A server that is there and has no such file will not have it the next time. */
const ATTEMPTS_MAX = 3;

/**
 * Loads a part of the page's code by its `import`. While the server is away it waits, as requests
 * do. Errors: `RequestError` where the part cannot be had; the signal's reason.
 */
export async function loadPart<T>(load: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1;; attempt += 1) {
    try {
      return await load();
    } catch (cause) {
      signal.throwIfAborted();
      if (!await untilBack(signal)) {
        throw new RequestError("The server cannot be reached. Ask again.", 0, { cause });
      }
      if (attempt < ATTEMPTS_MAX) continue;
      throw new RequestError(
        "A part of this page cannot be loaded. The server may have a newer page: reload it.",
        0,
        { cause },
      );
    }
  }
}
