/** How much room a disk has. Needs `--allow-sys=statfs`. */

import { statfs } from "node:fs/promises";

export interface DiskRoom {
  /** Bytes that an unprivileged process may still write. */
  readonly freeBytes: number;
  /** Bytes of the whole file system. */
  readonly bytes: number;
}

/** Why `diskRoom` would tell nothing; undefined where it would. */
export function diskRoomRefusal(): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "statfs" });
  return state === "granted" ? undefined : "no sys permission statfs";
}

/**
 * The room of the file system that holds `path`; undefined where that cannot be told, because
 * nothing is there, or the permission is missing.
 */
export async function diskRoom(path: string): Promise<DiskRoom | undefined> {
  if (diskRoomRefusal() !== undefined) return undefined;
  try {
    const { bavail, blocks, bsize } = await statfs(path);
    return { freeBytes: bavail * bsize, bytes: blocks * bsize };
  } catch {
    return undefined;
  }
}
