/**
 * Delete files of other engines, applied: data files some of whose rows they deleted are written
 * anew without these rows. When no delete file has anything left to say, all of them leave the
 * table. The rows that readers see stay as they are, so the snapshot's operation is `replace`.
 *
 * Invariants: a data file is replaced with all deletes that were there at the commit, or not at
 * all. Delete files leave only with the last data file that they touch
 * (`shared/iceberg/stage_rewrite.ts`).
 */

import { withSidecars } from "../derived/sidecar.ts";
import { type CommitDeps, readerOf } from "../iceberg/commit_table.ts";
import type { LoadedTable } from "../iceberg/iceberg_reader.ts";
import { removeQuietly } from "../iceberg/staging.ts";
import { type TouchedFile, touchedName } from "../iceberg/touched_files.ts";
import { INLINE_PARQUET_DECODER, type ParquetDecoder } from "../parquet/parquet_decoder.ts";
import { commitOrDiscard } from "../tables/commit_or_discard.ts";
import type { DataFileWriterDeps } from "../tables/data_file_writer.ts";
import { readBatches } from "../tables/file_run.ts";
import { readForeignDeletes, type TouchedRows } from "../tables/foreign_deletes.ts";
import { textOfTable } from "../tables/text_of_table.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type FileRest, restOfFile } from "./delete_rows.ts";

export interface ApplyDeletesDeps extends CommitDeps, DataFileWriterDeps {
  /** Default: on the caller's thread. */
  readonly decoder?: ParquetDecoder;
}

/** What one commit did. */
export interface AppliedDeletes {
  /** `superseded`: another commit was first; look again. */
  readonly outcome: "applied" | "superseded";
  readonly files: number;
  readonly rows: number;
  /** Whether delete files are left. */
  readonly more: boolean;
}

/** Data files that one commit writes anew at most, and their bytes. */
const FILES_MAX = 16;
const BYTES_MAX = 128 * 1024 * 1024;
/** Commits for one table in a row; then others have their turn. */
const ROUNDS_MAX = 200;

/**
 * Applies deletes in one commit; undefined: there are none. `checked` has the files, by
 * `touchedName`, in which the deletes were found to take nothing out; keep it for the next call.
 * Errors: those of `readForeignDeletes`, `restOfFile` and `commitRewrite`; the signal's reason.
 */
export async function applyForeignDeletes(
  given: ApplyDeletesDeps,
  ident: TableIdent,
  { checked, signal }: { readonly checked: Set<string>; readonly signal?: AbortSignal },
): Promise<AppliedDeletes | undefined> {
  const deps = { ...given, reader: readerOf(given) };
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) return undefined;
  const table = await deps.reader.loadTable(ident, location);
  if (!await deps.reader.hasDeletes(table)) return undefined;
  const { touched } = await deps.reader.selectWithDeletes(table);
  const present = new Set(touched.map(touchedName));
  for (const name of checked) if (!present.has(name)) checked.delete(name);
  const pass = new Pass(deps, table, signal);
  try {
    const more = await pass.write(touched, checked);
    const applied = new Set([...checked, ...pass.rests.map(({ one }) => touchedName(one))]);
    const rewrite = {
      ident,
      tableUuid: table.uuid,
      kind: "apply",
      replaced: pass.rests.map(({ one }) => one.file),
      files: pass.rests.flatMap(({ files }) => files),
      applied,
    } as const;
    const { outcome } = await commitOrDiscard(deps, rewrite, () => pass.discard());
    const isApplied = outcome === "committed";
    return { outcome: isApplied ? "applied" : "superseded", ...pass.report, more };
  } catch (error) {
    if (!pass.isWritten) await pass.discard();
    throw error;
  }
}

/**
 * Applies all deletes of a table, commit by commit, for a caller that needs it without any.
 * Errors: as of `applyForeignDeletes`.
 */
export async function applyAllDeletes(
  deps: ApplyDeletesDeps,
  ident: TableIdent,
  signal?: AbortSignal,
): Promise<void> {
  const checked = new Set<string>();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const options = signal === undefined ? { checked } : { checked, signal };
    if (await applyForeignDeletes(deps, ident, options) === undefined) return;
  }
}

interface TouchedRest extends FileRest {
  readonly one: TouchedFile;
}

/** The data files of one commit, written before it. */
class Pass {
  readonly rests: TouchedRest[] = [];
  /** Whether all is written, so that only the commit knows what becomes of it. */
  isWritten = false;
  readonly #deps: ApplyDeletesDeps;
  readonly #table: LoadedTable;
  readonly #signal: AbortSignal | undefined;

  constructor(deps: ApplyDeletesDeps, table: LoadedTable, signal: AbortSignal | undefined) {
    this.#deps = deps;
    this.#table = table;
    this.#signal = signal;
  }

  get report(): Pick<AppliedDeletes, "files" | "rows"> {
    const rows = this.rests.reduce((sum, { rowsDeleted }) => sum + rowsDeleted, 0);
    return { files: this.rests.length, rows };
  }

  /** True: more is to be written than one commit takes. */
  async write(touched: readonly TouchedFile[], checked: Set<string>): Promise<boolean> {
    const open = touched.filter((one) => !checked.has(touchedName(one)));
    const text = await textOfTable(this.#deps, this.#table);
    let bytes = 0;
    // Delete files are of one day, too.
    for (const [, ofDay] of Map.groupBy(open, ({ file }) => file.day)) {
      const { store, decoder = INLINE_PARQUET_DECODER } = this.#deps;
      const rowsOf = await readForeignDeletes({ store, decoder }, ofDay, this.#signal);
      for (const one of ofDay) {
        const rows = rowsOf(one);
        if (!await this.#takesOut(one, rows)) {
          checked.add(touchedName(one));
          continue;
        }
        bytes += one.file.byteLength;
        const isFull = this.rests.length === FILES_MAX || bytes > BYTES_MAX;
        if (this.rests.length > 0 && isFull) {
          this.isWritten = true;
          return true;
        }
        const { file } = one;
        const rest = { table: this.#table, file, isGone: rows.isGone };
        this.rests.push({ one, ...await restOfFile(this.#deps, rest, this.#options(text)) });
      }
    }
    this.isWritten = true;
    return false;
  }

  discard(): Promise<void> {
    const keys = this.rests.flatMap(({ files }) => files.map(({ key }) => key));
    return removeQuietly(this.#deps.store, withSidecars(keys));
  }

  #options(text: Parameters<typeof restOfFile>[2]["text"]): Parameters<typeof restOfFile>[2] {
    return this.#signal === undefined ? { text } : { text, signal: this.#signal };
  }

  async #takesOut({ file }: TouchedFile, { isGone, places }: TouchedRows): Promise<boolean> {
    if (places > 0) return true;
    let seen = 0;
    const { store, decoder = INLINE_PARQUET_DECODER } = this.#deps;
    for await (const batch of readBatches({ store, decoder }, this.#table, file)) {
      this.#signal?.throwIfAborted();
      const test = isGone(batch, seen);
      for (let at = 0; at < batch.rows; at += 1) if (test(at)) return true;
      seen += batch.rows;
    }
    return false;
  }
}
