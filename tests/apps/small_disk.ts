/**
 * A file system of a test's own, small enough to be filled: a tmpfs, which takes the right to
 * mount.
 */

import assert from "node:assert/strict";
import { statfsSync } from "node:fs";
import { join } from "node:path";

const MIB = 1024 * 1024;
/** More than the floor of 256 MiB that the WAL keeps free. */
const DISK_MIB = 300;

/** A tmpfs on a directory of its own; undefined where mounting is not allowed. */
export async function mountDisk() {
  const path = await Deno.makeTempDir({ prefix: "svc-disk-" });
  const mount = ["-t", "tmpfs", "-o", `size=${DISK_MIB}m`, "tmpfs", path];
  if (!await succeeds("mount", mount)) {
    await Deno.remove(path);
    return undefined;
  }
  const filler = join(path, "filler");
  return {
    path,
    /** Takes all but `freeMib` of what is free. */
    async fill(freeMib: number) {
      const { bavail, bsize } = statfsSync(path);
      const file = await Deno.open(filler, { write: true, create: true, append: true });
      const zeros = new Uint8Array(MIB);
      try {
        const mib = Math.floor(bavail * bsize / MIB) - freeMib;
        for (let count = 0; count < mib; count++) await file.write(zeros);
        if (freeMib > 0) return;
        while (await file.write(zeros.subarray(0, 4096)) > 0);
      } catch (error) {
        if (freeMib > 0 || !/No space/.test(String(error))) throw error;
      } finally {
        file.close();
      }
    },
    empty: () => Deno.remove(filler),
    async [Symbol.asyncDispose]() {
      assert.ok(await succeeds("umount", [path]), `cannot unmount ${path}`);
      await Deno.remove(path);
    },
  };
}

/** A folder that nobody can write to, root included, until it is disposed of. */
interface ReadOnlyFolder extends AsyncDisposable {
  /** It can be written to again, also while files in it are open. */
  release(): Promise<void>;
}

/** Makes a folder one that nobody can write to. */
export async function mountReadOnly(path: string): Promise<ReadOnlyFolder> {
  assert.ok(await succeeds("mount", ["--bind", path, path]), `cannot mount ${path}`);
  assert.ok(await succeeds("mount", ["-o", "remount,ro,bind", path]), `cannot mount ${path} anew`);
  return {
    async release() {
      assert.ok(await succeeds("mount", ["-o", "remount,rw,bind", path]), `cannot free ${path}`);
    },
    async [Symbol.asyncDispose]() {
      assert.ok(await succeeds("umount", [path]), `cannot unmount ${path}`);
    },
  };
}

async function succeeds(command: string, args: string[]): Promise<boolean> {
  try {
    const output = await new Deno.Command(command, { args, stdout: "null", stderr: "null" })
      .output();
    return output.success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function canMount(): Promise<boolean> {
  await using disk = await mountDisk();
  return disk !== undefined;
}

/** Whether this process has the right to mount one. */
export const MAY_MOUNT = await canMount();
