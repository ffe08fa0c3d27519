/** How much memory this process can have. Needs `--allow-sys=systemMemoryInfo`. */

import { totalmem } from "node:os";
import process from "node:process";

/**
 * Bytes of the machine or, if smaller, of the container (control groups v1 and v2; the runtime
 * reads them where `/sys` itself is closed to us). Infinity without the permission.
 */
export function memoryLimitBytes(): number {
  try {
    return Math.min(totalmem(), process.constrainedMemory() || Infinity);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return Infinity;
    throw error;
  }
}

/**
 * Bytes that the container may use; Infinity where it may use all of the machine, or without the
 * permission.
 */
export function containerLimitBytes(): number {
  try {
    const limitBytes = process.constrainedMemory() || Infinity;
    return limitBytes < totalmem() ? limitBytes : Infinity;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return Infinity;
    throw error;
  }
}
