/**
 * The thread of low priority of DuckDB's process (`engine_process.ts`). It has the socket and the
 * DuckDB.
 */

import { parentSocket } from "../../../os/parent_process.ts";
import { serveCalls } from "./serve_calls.ts";

const scope = globalThis as unknown as { postMessage(over: true): void };

// Only the first thread can end the process.
serveCalls(parentSocket(), () => scope.postMessage(true));
