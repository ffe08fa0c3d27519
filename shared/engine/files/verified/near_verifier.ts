/**
 * Verifies the data files of a folder before DuckDB reads them: the column chunks that a scan
 * wants, once in a process. What was verified is remembered while the file is the same one, by
 * inode, size and time of its last change. These are looked at once a minute. So a scan of files
 * that were verified before costs a look into a map for each.
 */

import { BufferPool } from "../../../base/buffer_pool.ts";
import { damagedFile, goneFile } from "../../../base/damaged_file.ts";
import { OperatingError } from "../../../base/errors.ts";
import type { DataFile } from "../../../iceberg/types.ts";
import type { FileStat } from "../../../os/file_system.ts";
import { readSums } from "../../../parquet/footer.ts";
import { type SummedGroup, summedGroups } from "../../../parquet/sums.ts";
import { chained, readBySteps, type ReadSteps } from "../../../storage/read_steps.ts";
import { readingInto, SUM_BLOCK_BYTES } from "../../../storage/sum_of_range.ts";
import { VERIFIED_FILES_MAX } from "../../limits.ts";
import type { Plan, TablePlan } from "../../plan/plan.ts";
import { type NearFile, NearReads, type NearReadsDeps } from "./near_reads.ts";
import { VerifiedColumns } from "./verified_columns.ts";
import { verifyChunks, type WantedChunks } from "./verify_chunks.ts";

/** Where the files are. */
export interface NearVerifierDeps extends NearReadsDeps {
  readonly path: (file: DataFile) => string;
}

interface Known {
  /** Inode, size and time. */
  readonly identity: string;
  readonly columns: VerifiedColumns;
  lookedMs: number;
}

/** For so long a file is taken for the one that it was. */
const TRUST_MS = 60_000;
const FILES_AT_ONCE = 4;

/** All data files of one folder. */
export class NearVerifier {
  /** By key, those that were verified least recently first. */
  readonly #known = new Map<string, Known>();
  readonly #blocks = new BufferPool();

  readonly #reads: NearReads;

  constructor(private readonly deps: NearVerifierDeps) {
    this.#reads = new NearReads(deps);
  }

  /**
   * Verifies what a scan of `plan` reads of data files. Errors: `damaged_file`, the store's, the
   * reason of `signal`.
   */
  async verify(plan: Plan, signal: AbortSignal): Promise<void> {
    const due = plan.tables.flatMap((table) => this.#due(table));
    if (due.length === 0) return;
    const worker = async () => {
      for (let next = due.shift(); next !== undefined; next = due.shift()) {
        const turn = this.#reads.turn();
        if (turn !== undefined) await turn;
        signal.throwIfAborted();
        const verifying = this.#verify(next.file, next);
        if (verifying !== undefined) await verifying;
      }
    };
    await Promise.all(Array.from({ length: Math.min(FILES_AT_ONCE, due.length) }, worker));
  }

  #due({ parts, projected: columns }: TablePlan): (WantedChunks & { readonly file: DataFile })[] {
    const nowMs = this.deps.nowMs();
    return parts.flatMap((part) => {
      if (part.origin !== "file" || part.source.kind !== "file") return [];
      const { file } = part;
      const rows = part.range ?? { first: 0, end: file.rows };
      const known = this.#known.get(file.key);
      const isKnown = known !== undefined && nowMs - known.lookedMs < TRUST_MS &&
        holdsAll(known.columns, { columns, rows });
      return isKnown ? [] : [{ file, columns, rows }];
    });
  }

  /** A promise costs more than a small read: where nothing is waited for, there is none. */
  #verify(file: DataFile, wanted: WantedChunks): Promise<void> | void {
    return chained(this.#stat(file), (stat) => {
      if (stat.size !== file.byteLength) throw wrongSize(file, stat.size);
      const columns = this.#columnsOf(file, stat);
      if (holdsAll(columns, wanted)) return;
      return chained(this.#open(file), (opened) => {
        return this.#read(file, opened, checked(file, columns, wanted));
      });
    });
  }

  #read(file: DataFile, opened: NearFile, steps: ReadSteps<void>): Promise<void> | void {
    const block = this.#blocks.take(SUM_BLOCK_BYTES);
    const end = () => {
      this.#blocks.give(block);
      opened[Symbol.dispose]();
    };
    let reading: Promise<void> | void;
    try {
      reading = readBySteps(
        steps,
        readingInto(block, (into, offset) => asked(file, () => opened.read(into, offset))),
      );
    } catch (error) {
      end();
      throw error;
    }
    if (reading instanceof Promise) return reading.finally(end);
    end();
  }

  #open(file: DataFile): NearFile | Promise<NearFile> {
    return asked(file, () => this.#reads.open(this.deps.path(file)));
  }

  #stat(file: DataFile): FileStat | Promise<FileStat> {
    return asked(file, () => this.#reads.stat(this.deps.path(file)));
  }

  /** What is known of the file that is there now. */
  #columnsOf({ key, rows }: DataFile, { inode, size, mtimeMs }: FileStat): VerifiedColumns {
    const identity = `${inode} ${size} ${mtimeMs}`;
    const held = this.#known.get(key);
    const lookedMs = this.deps.nowMs();
    const known = held?.identity === identity
      ? held
      : { identity, columns: new VerifiedColumns(rows), lookedMs };
    known.lookedMs = lookedMs;
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > VERIFIED_FILES_MAX && oldest !== undefined) this.#known.delete(oldest);
    return known.columns;
  }
}

/** Holds what is wanted of a file against its sums. Errors: `damaged_file`. */
function* checked(
  file: DataFile,
  verified: VerifiedColumns,
  wanted: WantedChunks,
): ReadSteps<void> {
  const { key } = file;
  const sums = yield* readSums(key, file.byteLength);
  const groups = sums === undefined ? whole(file) : summedGroups(sums);
  yield* verifyChunks({ key, groups, verified }, wanted);
  verified.hasFooter = true;
}

/** Errors: `unavailable`, also for a file that was replaced since the statement was planned. */
export function asked<T>(file: DataFile, ask: () => T | Promise<T>): T | Promise<T> {
  const unreadable = (cause: unknown) => {
    if (codeOf(cause) === "NotFound") throw goneFile(file.key, cause);
    throw new OperatingError("unavailable", `Cannot read ${file.key}: ${codeOf(cause)}; retry`, {
      reason: "storage_unavailable",
      retryAfterSecs: 1,
      cause,
    });
  };
  try {
    const answer = ask();
    return answer instanceof Promise ? answer.catch(unreadable) : answer;
  } catch (cause) {
    return unreadable(cause);
  }
}

/** A file without sums: all of it counts as verified. */
function whole({ rows }: DataFile): SummedGroup[] {
  return [{ firstRow: 0, rows, chunk: () => undefined }];
}

function wrongSize({ key, byteLength }: DataFile, size: number): OperatingError {
  return damagedFile(key, {
    offset: Math.min(size, byteLength),
    byteLength: Math.abs(size - byteLength),
    what: `the end of a file that has ${size} bytes and should have ${byteLength}`,
  });
}

/** What the system says, without the path. */
function codeOf(cause: unknown): string {
  return cause instanceof Error ? cause.name : "it is not there";
}

function holdsAll(verified: VerifiedColumns, { columns, rows }: WantedChunks): boolean {
  return verified.hasFooter && columns.every(({ id }) => verified.holds(id, rows));
}
