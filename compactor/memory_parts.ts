/**
 * What the compactor holds, and how `--memory-bytes` is divided among it. The one place: the sizes
 * of files in the making, the metrics `svc_memory_…` and the table of docs/operate.md are made of
 * it.
 *
 * A drain and a merge may be at work at once. They share the threads that encode and derive, which
 * work on one file at a time. So what the threads hold is that of the largest file, and the rows of
 * both are what is held beside it.
 */

import { type MemoryPart, type MemoryPlan, planMemory } from "../shared/memory/memory_plan.ts";
import { INPUT_BYTES } from "../shared/tables/data_file_writer.ts";
import { MERGED_INPUT_BYTES } from "../shared/upkeep/merge.ts";

const MIB = 1024 ** 2;

/** 600 MB: the limit where no option says another. More is not faster. */
export const MEMORY_BYTES_DEFAULT = 572 * MIB;
/** Below it files would be small, and rows be written again more often. */
export const MEMORY_BYTES_MIN = 256 * MIB;

/**
 * What is held for each byte of rows that make a file. A drain has rows that wait, and
 * those that the threads work on: the file before, or a copy in order. What one of them took is
 * kept for the next. A merge makes one file after the other. The threads work on one file, the
 * largest of which is a merge's.
 */
const DRAIN_TIMES = 3;
const MERGE_TIMES = 3;
const THREADS_TIMES = 3;
const ROWS_BYTES_MAX = DRAIN_TIMES * INPUT_BYTES + MERGE_TIMES * MERGED_INPUT_BYTES;
const THREADS_BYTES_MAX = THREADS_TIMES * MERGED_INPUT_BYTES;

export const MEMORY_PARTS = {
  process: {
    what: "runtime, code, heaps, the catalog and metadata of tables",
    base: 156 * MIB,
  },
  rows: {
    what: "rows of a drain and of a merge, until their files are written",
    share: ROWS_BYTES_MAX / MIB,
    max: ROWS_BYTES_MAX,
  },
  threads: {
    what: "what the threads work with that decode, encode and derive",
    share: THREADS_BYTES_MAX / MIB,
    max: THREADS_BYTES_MAX,
  },
} as const satisfies Readonly<Record<string, MemoryPart>>;

export type CompactorPart = keyof typeof MEMORY_PARTS;

/**
 * Past this share of the limit garbage is collected behind each file. From half of the limit on it
 * doubled the processor time of a compactor, while collections still threw compiled code away
 * (`keepCompiledCode`).
 */
const COLLECT_SHARE = 0.85;

export type CompactorMemoryPlan = MemoryPlan<CompactorPart> & {
  /** Bytes of rows of one file that a drain makes, and of one that a merge makes. */
  readonly drainFileBytes: number;
  readonly mergeFileBytes: number;
  /** With more resident bytes garbage is collected behind each file. */
  readonly collectAboveBytes: number;
};

/** `limitBytes`: `--memory-bytes`; default `MEMORY_BYTES_DEFAULT`. */
export function planCompactorMemory(
  limitBytes: number = MEMORY_BYTES_DEFAULT,
): CompactorMemoryPlan {
  const plan = planMemory<CompactorPart>(MEMORY_PARTS, { limitBytes });
  const share = plan.bytes.rows / ROWS_BYTES_MAX;
  return {
    ...plan,
    drainFileBytes: Math.floor(share * INPUT_BYTES),
    mergeFileBytes: Math.floor(share * MERGED_INPUT_BYTES),
    collectAboveBytes: Math.floor(COLLECT_SHARE * limitBytes),
  };
}
