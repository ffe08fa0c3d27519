/** The thread's side of a `TaskThread`. Imports little: each thread loads it. */

import { collectGarbage } from "./garbage.ts";

export interface Task<Q> {
  readonly id: number;
  readonly request: Q;
}

/** What comes back for the task of this id. */
export type Reply<V> =
  | { readonly id: number; readonly value: V }
  | { readonly id: number; readonly failure: string };

/** A value, and those of its buffers that can be handed over instead of copied. */
export interface Done<V> {
  readonly value: V;
  readonly transfer?: readonly ArrayBuffer[];
}

/**
 * Answers each request with what `work` makes of it. `isLarge`: whether garbage is collected behind
 * it, for a thread that makes arrays of tens of MiB and has time; default: never.
 */
export function serveTasks<Q, V>(
  work: (request: Q) => Done<V> | Promise<Done<V>>,
  isLarge: (request: Q) => boolean = () => false,
): void {
  const scope = globalThis as unknown as {
    onmessage: ((event: MessageEvent<Task<Q>>) => void) | null;
    postMessage(reply: Reply<V>, transfer: readonly ArrayBuffer[]): void;
  };
  scope.onmessage = async ({ data: { id, request } }) => {
    try {
      const { value, transfer = [] } = await work(request);
      scope.postMessage({ id, value }, transfer);
    } catch (error) {
      scope.postMessage({ id, failure: String(error) }, []);
    }
    if (isLarge(request)) collectGarbage();
  };
}
