/**
 * A thread whose work can wait lets the others of this process, and of the machine, have the
 * processor first. On Linux a thread has a priority of its own; elsewhere one would be the whole
 * process's, so nothing is changed there.
 *
 * Needs `--allow-sys=setPriority`.
 */

import { constants, setPriority } from "node:os";

/** The calling thread. */
const THIS_THREAD = 0;

/** Why `yieldToOthers` would do nothing, or fail; undefined where it would not. */
export function yieldingRefusal(
  niceness: number = constants.priority.PRIORITY_LOW,
): string | undefined {
  if (Deno.build.os !== "linux") return "only Linux has priorities of threads";
  if (niceness > constants.priority.PRIORITY_LOW) return `there is no niceness of ${niceness}`;
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "setPriority" });
  return state === "granted" ? undefined : "no sys permission setPriority";
}

/**
 * Lowers the priority of the calling thread and of those that it starts from now on. Where others
 * want the processor, it gets a tenth of their share with a niceness of 10, a sixtieth with the
 * greatest. Without privileges this cannot be taken back. Errors: where it is refused.
 */
export function yieldToOthers(niceness: number = constants.priority.PRIORITY_LOW): void {
  setPriority(THIS_THREAD, niceness);
}
