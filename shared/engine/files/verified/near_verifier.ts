/**
 * Verifies the data files of a folder before DuckDB reads them: the column chunks that a scan
 * wants, once in a process. What was verified is remembered for as long as the file is the same one,
 * by inode, size and time of its last change. That is looked at once a minute, so a scan of files
 * that were verified before costs a look into a map for each.
 */

import type { DataFile } from "../../../iceberg/types.ts";
import type { ReadableFiles } from "../../../os/file_system.ts";
import type { ParquetFooter } from "../../../parquet/footer.ts";
import type { ReadableStore } from "../../../storage/object_store.ts";
import { VERIFIED_FILES_MAX } from "../../limits.ts";
import type { Plan, TablePlan } from "../../plan/plan.ts";
import { dataFileError } from "../object_cache/cache_error.ts";
import { VerifiedColumns } from "./verified_columns.ts";
import { verifyChunks, type WantedChunks } from "./verify_chunks.ts";

/** Where the files are, and what reads their footers. */
export interface NearVerifierDeps {
  readonly store: Pick<ReadableStore, "getRange">;
  readonly files: Pick<ReadableFiles, "stat">;
  readonly path: (file: DataFile) => string;
  readonly footer: (file: DataFile) => Promise<ParquetFooter>;
  readonly nowMs: () => number;
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

  constructor(private readonly deps: NearVerifierDeps) {}

  /**
   * Verifies what a scan of `plan` reads of data files. Errors: `damaged_file`, the store's, the
   * reason of `signal`.
   */
  async verify(plan: Plan, signal: AbortSignal): Promise<void> {
    const due = plan.tables.flatMap((table) => this.#due(table));
    if (due.length === 0) return;
    const worker = async () => {
      for (let next = due.shift(); next !== undefined; next = due.shift()) {
        signal.throwIfAborted();
        await this.#verify(next.file, next);
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

  async #verify(file: DataFile, wanted: WantedChunks): Promise<void> {
    const { store, footer } = this.deps;
    const columns = await this.#columnsOf(file);
    if (holdsAll(columns, wanted)) return;
    const read = async (offset: number, length: number) => {
      try {
        return await store.getRange(file.key, offset, length);
      } catch (error) {
        throw dataFileError(error);
      }
    };
    const verified = { key: file.key, footer: await footer(file), verified: columns, read };
    await verifyChunks(verified, wanted);
    columns.hasFooter = true;
  }

  /** What is known of the file that is there now. */
  async #columnsOf(file: DataFile): Promise<VerifiedColumns> {
    const identity = await this.#identityOf(file);
    // Whoever reads it tells what is wrong.
    if (identity === undefined) return new VerifiedColumns(file.rows);
    const held = this.#known.get(file.key);
    const lookedMs = this.deps.nowMs();
    const known = held?.identity === identity
      ? held
      : { identity, columns: new VerifiedColumns(file.rows), lookedMs };
    known.lookedMs = lookedMs;
    this.#known.delete(file.key);
    this.#known.set(file.key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > VERIFIED_FILES_MAX && oldest !== undefined) this.#known.delete(oldest);
    return known.columns;
  }

  async #identityOf(file: DataFile): Promise<string | undefined> {
    try {
      const { inode, size, mtimeMs } = await this.deps.files.stat(this.deps.path(file));
      return `${inode} ${size} ${mtimeMs}`;
    } catch {
      return undefined;
    }
  }
}

function holdsAll(verified: VerifiedColumns, { columns, rows }: WantedChunks): boolean {
  return verified.hasFooter && columns.every(({ id }) => verified.holds(id, rows));
}
