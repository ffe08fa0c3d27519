/** How much memory this process can have. Needs `--allow-sys=systemMemoryInfo`. */

import { totalmem } from "node:os";
import process from "node:process";

/**
 * Bytes of the machine or, if smaller, of the container (control groups v1 and v2; the runtime reads them where
 * `/sys` itself is closed to us). Infinity without the permission.
 */
export function memoryLimitBytes(): number {
  try {
    return Math.min(totalmem(), process.constrainedMemory() || Infinity);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return Infinity;
    throw error;
  }
}
