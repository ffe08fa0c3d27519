/**
 * A thread that lowers its priority and starts that of the SQL engine (`driver_worker.ts`), which so has the same from its
 * first moment on, as have all threads that the runtime or the SQL engine starts there.
 */

import { messageOf } from "../base/errors.ts";
import { yieldToOthers } from "../os/thread_priority.ts";

export interface YieldingStart {
  readonly niceness: number;
  /** Where the SQL engine's thread takes its calls. */
  readonly port: MessagePort;
}

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<YieldingStart>) => void) | null;
  /** Why there is no such thread. */
  postMessage(refusal: string): void;
};

scope.onmessage = ({ data: { niceness, port } }) => {
  try {
    yieldToOthers(niceness);
  } catch (error) {
    return scope.postMessage(messageOf(error));
  }
  const thread = new Worker(new URL("./driver_worker.ts", import.meta.url), { type: "module" });
  thread.postMessage(port, [port]);
};
