/** Work on many items, some at a time. */

/**
 * Calls `act` for each item, for at most `atOnce` of them at a time, in their order. Errors: the
 * first one of `act`, or the reason of `signal`. It ends the work, and is told once all calls have
 * ended.
 */
export async function eachOf<Item>(
  items: Iterable<Item>,
  { atOnce, signal }: { readonly atOnce: number; readonly signal: AbortSignal | undefined },
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const worker = async () => {
    try {
      for (let next = left.next(); !next.done && failures.length === 0; next = left.next()) {
        signal?.throwIfAborted();
        await act(next.value);
      }
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failures.length > 0) throw failures[0];
}
