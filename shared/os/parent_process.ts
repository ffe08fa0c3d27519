/** The side of `child_process.ts` that was started. */

import { Socket } from "node:net";

/** The socket to the process that started this one; once. Needs no permission, in any thread. */
export function parentSocket(): Socket {
  return new Socket({ fd: 3 });
}

/**
 * Whether this is a compiled binary that was started as `word` says; its arguments are those behind
 * that.
 */
export function isStartedAs(word: string): boolean {
  return Deno.build.standalone && Deno.args[0] === word;
}

/** What this process was started with, behind the name of its program. */
export function childArguments(): readonly string[] {
  return Deno.args;
}

/**
 * A signal to a whole group of processes reaches its first one, too, which ends the others when it
 * no longer needs them.
 */
export function leaveSignalsToParent(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    Deno.addSignalListener(signal, () => {});
  }
}

/** At once, whatever its threads do. */
export function endProcess(): never {
  Deno.exit(0);
}
