/**
 * The thread of low priority of a DuckDB's process (`engine_process.ts`): it has the socket and the
 * DuckDB.
 */

import { parentSocket } from "../../../os/parent_process.ts";
import { serveCalls } from "./serve_calls.ts";

const scope = globalThis as unknown as { postMessage(over: true): void };

// The process is the first thread's to end.
serveCalls(parentSocket(), () => scope.postMessage(true));
