/**
 * A process that has a DuckDB and nothing else. A server starts it (`spawn_engine.ts`) and speaks
 * with it over a socket (`calls.ts`). It ends when that socket does, so a server that is killed
 * leaves none behind.
 *
 * Its argument is a niceness. Linux keeps a priority for each thread, a new thread gets that of its
 * creator, and no thread can raise its own again without privileges. So this thread lowers its own
 * and starts another one (`engine_worker.ts`): all threads of that one, the runtime's and DuckDB's,
 * have the low priority from their first moment on.
 */

import {
  childArguments,
  endProcess,
  isStartedAs,
  leaveSignalsToParent,
  parentSocket,
} from "../../../os/parent_process.ts";
import { yieldToOthers } from "../../../os/thread_priority.ts";
import { serveCalls } from "./serve_calls.ts";

/** The argument that makes a compiled binary such a process. */
export const ENGINE_PROCESS = "engine-process";

/** Whether a compiled binary was started to be such a process. If so, it is one from now on. */
export function isEngineProcess(): boolean {
  if (!isStartedAs(ENGINE_PROCESS)) return false;
  void runEngineProcess(childArguments().slice(1));
  return true;
}

async function runEngineProcess([niceness = "0"]: readonly string[]): Promise<void> {
  leaveSignalsToParent();
  if (Number(niceness) === 0) return serveCalls(parentSocket(), endProcess);
  // The library is loaded before this thread steps back: a library that is loaded is loaded for all
  // threads.
  await import("@duckdb/node-bindings").catch(() => {}); // Whoever opens a database hears of it.
  yieldToOthers(Number(niceness));
  const thread = new Worker(new URL("./engine_worker.ts", import.meta.url), { type: "module" });
  thread.onmessage = endProcess;
}

if (import.meta.main) await runEngineProcess(childArguments());
