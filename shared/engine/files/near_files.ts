/** Data files in a folder of this machine, verified before DuckDB reads them. */

import { present } from "../../base/assert.ts";
import { BufferPool } from "../../base/buffer_pool.ts";
import { OperatingError } from "../../base/errors.ts";
import { memoizeIn } from "../../base/memoize.ts";
import type { DataFile } from "../../iceberg/types.ts";
import type { ReadableFiles } from "../../os/file_system.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { nearStore } from "./near_store.ts";
import type { DataFileLease, DataFiles, OpenDataFile } from "./data_files.ts";
import type { FooterCache } from "./footer_cache.ts";
import { type ByteRange, joined } from "./object_cache/byte_ranges.ts";
import { type NearFile, NearReads } from "./verified/near_reads.ts";
import { asked, NearVerifier } from "./verified/near_verifier.ts";

/** Data files that lie in a folder of this machine. */
export function localDataFiles(
  store: ReadableStore,
  { footers, files, nowMs }: {
    readonly footers: FooterCache;
    readonly files: Pick<ReadableFiles, "openRead" | "stat" | "blocking">;
    readonly nowMs: () => number;
  },
): DataFiles {
  // A statement over many files asks for each path several times.
  const path = memoizeIn(new WeakMap<DataFile, string>(), (file) => localPath(store, file));
  const footer = (file: DataFile) => footers.footer(file);
  const reads = new NearReads({ files, nowMs });
  const verifier = new NearVerifier({ files, path, nowMs });
  const indexStore = nearStore(store, reads);
  const lease = (signal: AbortSignal): DataFileLease => ({
    store,
    indexStore,
    path,
    footer,
    open: (file) => openNear(reads, file, path(file)),
    name: () => Promise.resolve(),
    async bring(plan) {
      await verifier.verify(plan, signal);
      return plan;
    },
    missingBytes: () => 0,
    reads: undefined,
    [Symbol.dispose]() {},
  });
  return { lease };
}

/** Ranges so near to each other are read at once: a read takes as long as so many bytes. */
const GAP_BYTES_MAX = 32 * 1024;

/** Pages are read into memory that is used again: to make it takes longer than to fill it. */
const MEMORY = new BufferPool();

async function openNear(reads: NearReads, data: DataFile, path: string): Promise<OpenDataFile> {
  const turn = reads.turn();
  if (turn !== undefined) await turn;
  const file = await asked(data, () => reads.open(path));
  const taken: Uint8Array<ArrayBuffer>[] = [];
  const giveBack = () => taken.splice(0).forEach((memory) => MEMORY.give(memory));
  return {
    read: async (ranges) => {
      giveBack();
      return await readNear(file, ranges, (length) => {
        const memory = MEMORY.take(length);
        taken.push(memory);
        return memory.subarray(0, length);
      });
    },
    [Symbol.asyncDispose]() {
      giveBack();
      file[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

async function readNear(
  file: NearFile,
  ranges: readonly ByteRange[],
  take: (length: number) => Uint8Array,
): Promise<readonly Uint8Array[]> {
  const reads = joined(ranges, (left, right) => right.start - left.end <= GAP_BYTES_MAX);
  const read: { readonly start: number; readonly bytes: Uint8Array }[] = [];
  for (const { start, end } of reads) {
    read.push({ start, bytes: await file.read(take(end - start), start) });
  }
  return ranges.map((range) => {
    const whole = present(read.findLast(({ start }) => start <= range.start), "a read");
    return whole.bytes.subarray(range.start - whole.start, range.end - whole.start);
  });
}

function localPath(store: ReadableStore, file: DataFile): string {
  const path = store.localPath(file.key);
  if (path !== undefined) return path;
  throw new OperatingError(
    "unimplemented",
    `Cannot read ${file.key} by SQL: the warehouse ${store.rootUri} is not on a local disk`,
  );
}
