/** The thread's side of a `TaskThread`. Imports nothing: each thread loads it. */

/** What comes back for one request. */
export type Reply<V> =
  | { readonly value: V }
  | { readonly failure: string };

/**
 * Answers each request with what `work` makes of it: a value, and those of its buffers that can be handed over instead of
 * copied.
 */
export function serveTasks<Q, V>(
  work: (request: Q) => { readonly value: V; readonly transfer?: readonly ArrayBuffer[] },
): void {
  const scope = globalThis as unknown as {
    onmessage: ((event: MessageEvent<Q>) => void) | null;
    postMessage(reply: Reply<V>, transfer: readonly ArrayBuffer[]): void;
  };
  scope.onmessage = ({ data }) => {
    try {
      const { value, transfer = [] } = work(data);
      scope.postMessage({ value }, transfer);
    } catch (error) {
      scope.postMessage({ failure: String(error) }, []);
    }
  };
}
