/**
 * Removes from a mirror what nobody else will: objects of a machine that is gone, whose segments
 * were committed by a drain elsewhere. Beside a WAL that lives its sweep has removed them long
 * before.
 *
 * An object goes only when the catalog shows its segment consumed, and was stored more than
 * `RECLAIM_AGE_MS_MIN` ago. The catalog then keeps the segment's id in little room: a copy that
 * comes up later, from a disk that was found again, still counts as consumed.
 */

import type { ObjectStore } from "../../storage/object_store.ts";
import { parseMirrorKey } from "./mirror_layout.ts";
import type { ConsumedSegments } from "./recover_mirror.ts";

/** A compactor beside the WAL removes its objects a minute after their commit. */
export const RECLAIM_AGE_MS_MIN = 3_600_000;
/** Objects asked about at a time. */
const ASKED_MAX = 1_000;
/** Objects removed by one call. */
const REMOVED_MAX = 10_000;

/** What the catalog knows of consumed segments, and a way to keep it in little room. */
export interface FoldedSegments extends ConsumedSegments {
  /** Keeps in little room that these are consumed. */
  foldConsumed(segments: readonly string[]): Promise<void>;
}

export interface ReclaimOptions {
  readonly nowMs: number;
  readonly signal?: AbortSignal;
}

/**
 * How many objects were removed; the next call goes on. Errors: of the store, of the catalog, the
 * signal's reason.
 */
export async function reclaimMirror(
  { store, prefix }: { readonly store: ObjectStore; readonly prefix: string },
  catalog: FoldedSegments,
  { nowMs, signal }: ReclaimOptions,
): Promise<number> {
  let removed = 0;
  let asked: { key: string; name: string }[] = [];
  const removeConsumed = async () => {
    if (asked.length === 0) return;
    signal?.throwIfAborted();
    const consumed = await catalog.consumedOf([...new Set(asked.map(({ name }) => name))]);
    const keys = asked.filter(({ name }) => consumed.has(name)).map(({ key }) => key);
    if (keys.length > 0) {
      await store.delete(keys);
      await catalog.foldConsumed([...consumed]);
    }
    removed += keys.length;
    asked = [];
  };
  for await (const { key, modifiedMs } of store.list(`${prefix}/`)) {
    const name = parseMirrorKey(prefix, key)?.name;
    if (name === undefined || nowMs - modifiedMs < RECLAIM_AGE_MS_MIN) continue;
    asked.push({ key, name });
    if (asked.length < ASKED_MAX) continue;
    await removeConsumed();
    if (removed >= REMOVED_MAX) return removed;
  }
  await removeConsumed();
  return removed;
}
