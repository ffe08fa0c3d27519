/** The thread's side of a `TaskThread`. Imports little: each thread loads it. */

import { collectGarbageAbove } from "./garbage.ts";
import { untilLate } from "./task_deadline.ts";

export interface Task<Q> {
  readonly id: number;
  readonly request: Q;
  /** With more resident bytes garbage is collected behind the task. */
  readonly collectAboveBytes?: number;
  /** How long it may take, as far as its loops heed it (`throwIfLate`). */
  readonly msMax?: number;
}

/** What comes back for the task of this id. */
export type Reply<V> =
  & { readonly id: number; readonly heldBytes?: number }
  & ({ readonly value: V } | { readonly failure: string });

/** A value, and those of its buffers that can be handed over instead of copied. */
export interface Done<V> {
  readonly value: V;
  readonly transfer?: readonly ArrayBuffer[];
}

/** Answers each request with what `work` makes of it. */
export function serveTasks<Q, V>(work: (request: Q) => Done<V> | Promise<Done<V>>): void {
  const scope = globalThis as unknown as {
    onmessage: ((event: MessageEvent<Task<Q>>) => void) | null;
    postMessage(reply: Reply<V>, transfer: readonly ArrayBuffer[]): void;
  };
  scope.onmessage = async ({ data: { id, request, collectAboveBytes, msMax } }) => {
    try {
      const { value, transfer = [] } = await untilLate(msMax, () => work(request));
      const held = collectAboveBytes === undefined ? {} : { heldBytes: ownBytes() };
      scope.postMessage({ id, value, ...held }, transfer);
    } catch (error) {
      scope.postMessage({ id, failure: String(error) }, []);
    }
    if (collectAboveBytes !== undefined) collectGarbageAbove(collectAboveBytes);
  };
}

/** This thread's heap and the arrays beside it. */
function ownBytes(): number {
  const { heapTotal, external } = Deno.memoryUsage();
  return heapTotal + external;
}
