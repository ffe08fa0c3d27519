/** Options of memory. What is not given `memory_parts.ts` says. */

import type { OptionTable } from "../../shared/config/options.ts";
import { POOL_BYTES_MIN } from "./memory_parts.ts";

const MIB = 1024 * 1024;
const BYTES_MAX = Number.MAX_SAFE_INTEGER;

export const MEMORY_OPTIONS = {
  memoryBytes: {
    kind: "integer",
    flag: "memory-bytes",
    env: "SVC_QUERY_MEMORY_BYTES",
    placeholder: "BYTES",
    min: 256 * MIB,
    max: BYTES_MAX,
    help: "Memory that this server and its DuckDB processes may use together; the container's " +
      "limit, or all of the machine's memory, when not given. query/README.md says how it " +
      "is divided.",
  },
  memoryPoolBytes: {
    kind: "integer",
    flag: "memory-pool-bytes",
    env: "SVC_QUERY_MEMORY_POOL_BYTES",
    placeholder: "BYTES",
    min: POOL_BYTES_MIN,
    max: BYTES_MAX,
    help: "Memory that all queries share, a part of --memory-bytes. When not given: about half " +
      "of what the processes themselves leave of it.",
  },
} as const satisfies OptionTable;
