/**
 * Removes the oldest points of a backup, then the objects that no point names. In this order: an
 * object is never missing from a point that is there.
 */

import { isOperatingError } from "../base/errors.ts";
import type { BackupTarget } from "./backup_target.ts";

export interface PrunedBackup {
  readonly points: number;
  readonly objects: number;
  readonly bytes: number;
  /** A point that stays and cannot be read: nobody knows what it names, so no object went. */
  readonly unreadable: string | undefined;
}

const REMOVED_AT_ONCE = 500;

/**
 * Leaves `keepLast` points; undefined: all, and every object. One backup at a time, so none is
 * about to name what goes. Errors: the store's.
 */
export async function pruneBackup(
  target: BackupTarget,
  keepLast: number | undefined,
): Promise<PrunedBackup> {
  const nothing = { points: 0, objects: 0, bytes: 0, unreadable: undefined };
  if (keepLast === undefined) return nothing;
  const names = await target.points();
  const gone = names.slice(0, Math.max(0, names.length - keepLast));
  await target.removePoints(gone);
  const named = new Set<string>();
  for (const name of names.slice(gone.length)) {
    try {
      const { files, segments } = await target.point(name);
      for (const { sum } of [...files, ...segments]) named.add(sum);
    } catch (error) {
      if (!isOperatingError(error, "corrupt")) throw error;
      return { ...nothing, points: gone.length, unreadable: name };
    }
  }
  const needless = [...await target.objects()].filter(([sum]) => !named.has(sum));
  for (let start = 0; start < needless.length; start += REMOVED_AT_ONCE) {
    const some = needless.slice(start, start + REMOVED_AT_ONCE);
    await target.removeObjects(some.map(([sum]) => sum));
  }
  return {
    ...nothing,
    points: gone.length,
    objects: needless.length,
    bytes: needless.reduce((sum, [, bytes]) => sum + bytes, 0),
  };
}
