/**
 * How much memory queries may share when no option says: half of what this process can have, at least 256 MiB.
 *
 * What it can have is the machine's memory or, if smaller, its container's limit (cgroup v2, then v1). The
 * runtime shows `/sys` only to a process with every permission, so a server with a permission set of its own
 * sees the machine's memory alone: in a container give `--memory-pool-bytes`.
 */

import { textOf } from "../shared/base/bytes.ts";
import type { ReadableFiles } from "../shared/os/file_system.ts";

export const POOL_BYTES_MIN = 256 * 1024 * 1024;

const LIMIT_FILES = [
  "/sys/fs/cgroup/memory.max",
  "/sys/fs/cgroup/memory/memory.limit_in_bytes",
];

export interface MemorySource {
  readonly files: Pick<ReadableFiles, "readFile">;
  /** Bytes of memory of the machine; may throw where that is not permitted. */
  readonly machineBytes: () => number;
}

/** Bytes of the pool. What cannot be read does not limit. */
export async function defaultPoolBytes(source: MemorySource): Promise<number> {
  const limits = await Promise.all(LIMIT_FILES.map((path) => containerLimit(source, path)));
  const available = Math.min(machineLimit(source), ...limits);
  return Number.isFinite(available)
    ? Math.max(POOL_BYTES_MIN, Math.floor(available / 2))
    : POOL_BYTES_MIN;
}

/** `max` is no limit; neither is v1's way to say that, which is close to 2^63. */
async function containerLimit({ files }: MemorySource, path: string): Promise<number> {
  try {
    const bytes = Number(textOf(await files.readFile(path)).trim());
    return bytes > 0 && bytes <= Number.MAX_SAFE_INTEGER ? bytes : Infinity;
  } catch {
    return Infinity;
  }
}

function machineLimit({ machineBytes }: MemorySource): number {
  try {
    return machineBytes();
  } catch {
    return Infinity;
  }
}
