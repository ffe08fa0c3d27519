/**
 * A thread whose work can wait lets the others of this process, and of the machine, have the processor first. On Linux a
 * thread has a priority of its own; elsewhere one would be the whole process's, so nothing is changed there.
 *
 * Needs `--allow-sys=setPriority`.
 */

import { constants, setPriority } from "node:os";

/** The calling thread. */
const THIS_THREAD = 0;

/** Why `yieldToOthers` would do nothing, or undefined. */
export function yieldingRefusal(): string | undefined {
  if (Deno.build.os !== "linux") return "only Linux has priorities of threads";
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "setPriority" });
  return state === "granted" ? undefined : "no sys permission setPriority";
}

/**
 * The calling thread, and those it starts from now on, get a tenth of the processor that one of the usual priority gets
 * beside it, and all of it when no other wants it. Not to be taken back without privileges. Errors: where it is refused.
 */
export function yieldToOthers(): void {
  setPriority(THIS_THREAD, constants.priority.PRIORITY_BELOW_NORMAL);
}
