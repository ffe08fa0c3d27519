/**
 * The model beside a simulated life: which rows were sent, acknowledged, committed and deleted. It
 * is told of every append, looks at the table after every commit of the catalog, and before every
 * removal from the store. It throws `Violation` when a promise is broken.
 *
 * Rows are numbers. A row that is in the table was once committed, and never comes twice.
 */

import type { TableCommit } from "../../shared/catalog/catalog.ts";
import { withSidecars } from "../../shared/derived/sidecar.ts";
import { IcebergReader, type LoadedTable } from "../../shared/iceberg/iceberg_reader.ts";
import { dataKeysOf, filesOfSnapshots } from "../../shared/tables/table_files.ts";
import { EVENTS } from "../../shared/testing/table_lab.ts";
import type { AckMode } from "../../shared/wal/types.ts";
import type { RowFiles } from "./row_files.ts";
import type { SimStore } from "./sim_store.ts";
import { requirePromise } from "./violation.ts";

/** A row that somebody sent. */
export interface Row {
  readonly number: number;
  /** The machine to whose WAL it was sent. */
  readonly machine: string;
  /** What its sender was told last; undefined: nothing, or an error. */
  ack: AckMode | undefined;
  segment: string | undefined;
  /** It was acknowledged in `auto`, and its machine lost power. */
  mayBeLost: boolean;
}

/** The table after one commit. */
export interface TableState {
  readonly location: string;
  readonly rows: ReadonlySet<number>;
}

/** A delete task: it is about the rows whose number leaves this residue. */
export interface SentTask {
  readonly residue: number;
  /** Rows that were acknowledged before it was sent, where its executor sees their WAL. */
  readonly mustGo: readonly number[];
  isDone: boolean;
}

/** Delete tasks name rows by their number modulo this. */
export const MODULUS = 11;

export class Truth {
  readonly rows = new Map<number, Row>();
  readonly tasks = new Map<string, SentTask>();
  /** From the first commit on. */
  readonly states: TableState[] = [];
  /** By row: the first of `states` without it. */
  readonly deleted = new Map<number, number>();
  /** All that were ever in the table. */
  readonly #ever = new Set<number>();
  readonly #indexOf = new Map<string, number>();
  readonly #reader: IcebergReader;
  /** Keys that the present metadata names, or a snapshot that it retains. */
  #named: ReadonlySet<string> = new Set();

  constructor(readonly store: SimStore, readonly files: RowFiles) {
    this.#reader = new IcebergReader(store.objects);
  }

  get table(): ReadonlySet<number> {
    return this.states.at(-1)?.rows ?? new Set();
  }

  send(machine: string, count: number): Row[] {
    return Array.from({ length: count }, () => {
      const number = this.rows.size;
      const row: Row = { number, machine, ack: undefined, segment: undefined, mayBeLost: false };
      this.rows.set(number, row);
      return row;
    });
  }

  acknowledge(rows: readonly Row[], mode: AckMode, segment: string): void {
    for (const row of rows) {
      row.ack = mode;
      row.segment = segment;
    }
  }

  /** What was acknowledged before it was synced may be lost with the power. */
  powerCut(machine: string): void {
    for (const row of this.rows.values()) {
      if (row.machine === machine && row.ack === "auto" && !this.#ever.has(row.number)) {
        row.mayBeLost = true;
      }
    }
  }

  /** Whether a reader beside `machine`'s WAL must see the row, as long as nobody deletes it. */
  isOwed(row: Row, machine: string | undefined): boolean {
    if (this.#ever.has(row.number)) return true;
    return row.ack !== undefined && !row.mayBeLost &&
      (machine === undefined || row.machine === machine);
  }

  wasCommitted(number: number): boolean {
    return this.#ever.has(number);
  }

  stateAt(location: string): { readonly index: number; readonly rows: ReadonlySet<number> } {
    const index = this.#indexOf.get(location);
    const rows = index === undefined ? undefined : this.states[index]?.rows;
    requirePromise(rows !== undefined, () => `${location} never was the table's metadata`);
    return { index: index ?? 0, rows: rows ?? new Set() };
  }

  /** The catalog committed `change`. */
  async committed(change: TableCommit): Promise<void> {
    const before = this.table;
    const table = await this.#reader.loadTable(EVENTS, change.next);
    await this.#lookAtFiles(table);
    const { files } = await this.#reader.selectFiles(table);
    const after = new Set<number>();
    for (const { key } of files) {
      for (const number of await this.files.numbersOf(key)) {
        requirePromise(!after.has(number), () => `row ${number} is in the table twice`);
        after.add(number);
      }
    }
    this.#compare(change, { before, after });
    this.#indexOf.set(change.next, this.states.length);
    this.states.push({ location: change.next, rows: after });
  }

  /** Every file that a retained snapshot names is there. */
  async #lookAtFiles(table: LoadedTable): Promise<void> {
    const deps = { store: this.store.objects, reader: this.#reader };
    const { lists, manifests } = await filesOfSnapshots(deps, table, table.metadata.snapshots);
    const data = await dataKeysOf(deps, table, [...manifests.values()]);
    const keys = new Set(
      [table.metadataLocation, ...lists, ...manifests.keys()].map((location) =>
        table.locator.keyOf(location)
      ),
    );
    this.#named = keys.union(data);
    for (const key of this.#named) {
      requirePromise(this.store.keys.has(key), () => `the table names ${key}, which is gone`);
    }
  }

  #compare(
    change: TableCommit,
    { before, after }: { before: ReadonlySet<number>; after: ReadonlySet<number> },
  ): void {
    const added = after.difference(before);
    const removed = before.difference(after);
    if (change.deletes === undefined) {
      requirePromise(removed.size === 0, () => `a commit dropped rows ${[...removed].join()}`);
    } else {
      this.#compareDelete(change.deletes.taskId, {
        before,
        after,
        rowsDeleted: change.deletes.rowsDeleted,
      });
    }
    if (change.consumed.length === 0) {
      requirePromise(added.size === 0, () => `rows ${[...added].join()} came from no segment`);
    }
    for (const number of added) {
      requirePromise(this.rows.has(number), () => `nobody sent row ${number}`);
      requirePromise(!this.#ever.has(number), () => `row ${number} came a second time`);
      this.#ever.add(number);
    }
    const consumed = new Set(change.consumed);
    for (const { number, segment, ack, mayBeLost } of this.rows.values()) {
      if (segment === undefined || !consumed.has(segment) || ack === undefined || mayBeLost) {
        continue;
      }
      requirePromise(
        this.#ever.has(number),
        () => `segment ${segment} was drained without its row ${number}`,
      );
    }
    for (const number of removed) this.deleted.set(number, this.states.length);
  }

  /**
   * All rows go that the task names and that came before it; none goes that it does not name. One
   * that was drained while the task was carried out may stay.
   */
  #compareDelete(
    taskId: string,
    { before, after, rowsDeleted }: {
      before: ReadonlySet<number>;
      after: ReadonlySet<number>;
      rowsDeleted: number;
    },
  ): void {
    const task = this.tasks.get(taskId);
    requirePromise(task !== undefined, () => `nobody sent delete task ${taskId}`);
    if (task === undefined) return;
    for (const number of before.difference(after)) {
      requirePromise(
        number % MODULUS === task.residue,
        () => `delete task ${taskId} took row ${number}, which it does not name`,
      );
    }
    for (const number of task.mustGo) {
      requirePromise(!after.has(number), () => `delete task ${taskId} left its row ${number}`);
    }
    requirePromise(
      rowsDeleted === before.size - after.size,
      () => `delete task ${taskId} says ${rowsDeleted} rows, and took ${before.size - after.size}`,
    );
    this.taskDone(taskId);
  }

  /** No row that was acknowledged before the task was sent comes into the table behind it. */
  taskDone(taskId: string): void {
    const task = this.tasks.get(taskId);
    if (task === undefined) return;
    requirePromise(!task.isDone, () => `delete task ${taskId} was carried out twice`);
    task.isDone = true;
    for (const number of task.mustGo) {
      if (this.rows.get(number)?.mayBeLost === true) continue;
      requirePromise(
        this.#ever.has(number),
        () => `delete task ${taskId} is done, and its row ${number} is still in the WAL`,
      );
    }
  }

  /** Somebody removes objects: none that the table needs. */
  removing(keys: readonly string[]): void {
    for (const key of keys) {
      requirePromise(!this.#named.has(key), () => `${key} is removed, and the table names it`);
    }
  }

  /** Keys that the table needs, with sidecars. */
  neededKeys(): ReadonlySet<string> {
    const data = [...this.#named].filter((key) => key.endsWith(".parquet"));
    return this.#named.union(new Set(withSidecars(data)));
  }
}
