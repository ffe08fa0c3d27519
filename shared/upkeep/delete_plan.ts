/**
 * What a delete task comes down to for a table as it is: its files, those that have such rows, and
 * what would be left of each. A plan is kept while other writers change the table: files that are
 * still there are not looked through twice.
 */

import { OperatingError } from "../base/errors.ts";
import type { CatalogReader } from "../catalog/catalog.ts";
import type { DeleteProgress, DeleteTask } from "../catalog/delete_ledger.ts";
import { textColumnsOf } from "../derived/text_columns.ts";
import type { TextColumn } from "../derived/types.ts";
import type { MatchedRows, RowMatcher, RowTest } from "../engine/predicate/row_matcher.ts";
import { BUILT_IN_TABLES } from "../schema/built_in_tables.ts";
import { QUERY_AUDIT_TABLE } from "../schema/query_audit.ts";
import type { DocMapping } from "../schema/doc_mapping.ts";
import { indexSchema } from "../schema/index_schema.ts";
import type { Column } from "../schema/schema.ts";
import type { IcebergReader, LoadedTable } from "../iceberg/iceberg_reader.ts";
import type { DataFile } from "../iceberg/types.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import { LocalCopy } from "./local_copy.ts";
import type { FileSystem } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";

export interface DeletePlanDeps {
  readonly store: Pick<ObjectStore, "get" | "getRange" | "head" | "localPath">;
  readonly catalog: Pick<CatalogReader, "indexState" | "metadataLocation">;
  readonly reader: IcebergReader;
  readonly matcher: Pick<RowMatcher, "match">;
  /** For copies, in the folder of `scratchDir`, of files that are not on this machine. */
  readonly files: FileSystem;
  readonly scratchDir: () => Promise<string>;
  readonly random: Random;
}

/** The table that a task is about. */
export interface DeleteTarget {
  readonly table: LoadedTable;
  /** Columns as statements see them: also of fields that no row has filled yet. */
  readonly columns: readonly Column[];
  /** Columns whose words are indexed. */
  readonly text: readonly TextColumn[];
}

/** Why a task cannot succeed, whichever process tries. */
class DeleteRefused extends Error {
  override readonly name = "DeleteRefused";
}

/**
 * undefined: the table has no rows yet. Errors: `DeleteRefused` of the audit, and when the index
 * was dropped since the task was accepted; the catalog's and the store's.
 */
async function deleteTarget(
  { catalog, reader }: Pick<DeletePlanDeps, "catalog" | "reader">,
  task: Pick<DeleteTask, "ident" | "epoch" | "tableUuid">,
): Promise<DeleteTarget | undefined> {
  const { ident } = task;
  if (ident.name === QUERY_AUDIT_TABLE) {
    throw new DeleteRefused(`${ident.name} records what was asked: no task deletes its rows`);
  }
  const { mapping, epoch } = await indexOf(catalog, task);
  if (epoch !== task.epoch) throw droppedSince(ident.name);
  const location = await catalog.metadataLocation(ident);
  if (location === undefined) {
    if (task.tableUuid !== undefined) throw droppedSince(ident.name);
    return undefined;
  }
  const table = await reader.loadTable(ident, location);
  if (task.tableUuid !== undefined && task.tableUuid !== table.uuid) throw droppedSince(ident.name);
  const schema = mapping === undefined ? table.schema : indexSchema(mapping, table.schema);
  return { table, columns: schema.columns, text: textColumnsOf(table.schema, mapping) };
}

async function indexOf(
  catalog: DeletePlanDeps["catalog"],
  { ident }: Pick<DeleteTask, "ident">,
): Promise<{ readonly mapping: DocMapping | undefined; readonly epoch: number }> {
  if (BUILT_IN_TABLES.has(ident.name)) return { mapping: undefined, epoch: 0 };
  const { index, epoch } = await catalog.indexState(ident);
  return { mapping: index?.config.doc_mapping, epoch };
}

function droppedSince(name: string): DeleteRefused {
  return new DeleteRefused(
    `index ${name} was dropped after the task was accepted; one that was made again under the ` +
      "name is another index: submit the task again if it is meant",
  );
}

/** A file that has rows to delete. */
export interface DeleteFile {
  readonly file: DataFile;
  readonly gone: MatchedRows;
}

export interface DeletePlan {
  readonly target: DeleteTarget;
  /** Oldest first. */
  readonly files: readonly DeleteFile[];
  /** Files whose times can meet the task's. */
  readonly filesTotal: number;
  readonly rowsMatched: number;
}

/** Finds what a task deletes, again and again while the table changes. */
export class DeletePlanner {
  readonly #deps: DeletePlanDeps;
  readonly #task: DeleteTask;
  /** By key; undefined: nothing in it is to be deleted. */
  readonly #known = new Map<string, MatchedRows | undefined>();

  constructor(deps: DeletePlanDeps, task: DeleteTask) {
    this.#deps = deps;
    this.#task = task;
  }

  /**
   * undefined: the table has no rows yet. Errors: those of `deleteTarget` and `RowMatcher.match`.
   */
  async plan(
    options: { readonly signal?: AbortSignal; onProgress?(progress: DeleteProgress): void } = {},
  ): Promise<DeletePlan | undefined> {
    const target = await deleteTarget(this.#deps, this.#task);
    if (target === undefined) return undefined;
    const { startNs, endNs } = this.#task;
    const range = { minNs: startNs, maxNs: endNs === undefined ? undefined : endNs - 1n };
    const { files } = await this.#deps.reader.selectFiles(target.table, range);
    const matched: DeleteFile[] = [];
    let rowsMatched = 0;
    for (const [at, file] of files.entries()) {
      options.signal?.throwIfAborted();
      // A file that has such rows is done when it is written anew.
      const filesDone = at - matched.length;
      options.onProgress?.({ filesTotal: files.length, filesDone, rowsMatched });
      const gone = await this.#match(file, target, options.signal);
      if (gone === undefined) continue;
      matched.push({ file, gone });
      rowsMatched += gone.count;
    }
    return { target, files: matched, filesTotal: files.length, rowsMatched };
  }

  async #match(
    file: DataFile,
    { table, columns, text }: DeleteTarget,
    signal: AbortSignal | undefined,
  ): Promise<MatchedRows | undefined> {
    if (this.#known.has(file.key)) return this.#known.get(file.key);
    await using copy = await LocalCopy.of(this.#deps, file);
    const matched = await this.#deps.matcher.match(
      { path: copy.path, rows: file.rows, columns, promoted: table.schema.promoted },
      testOf(this.#task, text),
      signal,
    );
    const gone = matched.count === 0 ? undefined : matched;
    this.#known.set(file.key, gone);
    return gone;
  }
}

function testOf(
  { ident, predicate, startNs, endNs }: DeleteTask,
  text: readonly TextColumn[],
): RowTest {
  const stemmed = text.filter(({ tokenizer }) => tokenizer === "stem").map(({ name }) => name);
  return {
    predicate,
    namespace: ident.namespace,
    table: ident.name,
    stemmed: new Set(stemmed),
    startNs,
    endNs,
  };
}

/** Whether an error is the task's own, so that another attempt meets it, too. */
export function isFinal(error: unknown): boolean {
  return error instanceof DeleteRefused ||
    error instanceof OperatingError && FINAL_CODES.has(error.code);
}

const FINAL_CODES: ReadonlySet<string> = new Set(["invalid_argument", "unimplemented"]);
