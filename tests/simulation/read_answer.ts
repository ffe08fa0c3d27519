/**
 * What a query server answers from: the plan is the product's (`readSnapshot`), the rows come from
 * the data files and the WAL's frames that the plan names.
 */

import { isOperatingError } from "../../shared/base/errors.ts";
import { readSnapshot } from "../../shared/engine/plan/snapshot.ts";
import type { CatalogReader } from "../../shared/catalog/catalog.ts";
import type { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import { EVENTS_LANE } from "../../shared/testing/drain_lab.ts";
import { EVENTS } from "../../shared/testing/table_lab.ts";
import { isUnfinishedSegment } from "../../shared/wal/reader.ts";
import type { WalReader } from "../../shared/wal/types.ts";
import type { RowFiles } from "./row_files.ts";
import type { Truth } from "./truth.ts";
import { requirePromise } from "./violation.ts";

export interface AnswerSource {
  readonly catalog: CatalogReader;
  readonly tables: IcebergReader;
  readonly store: Pick<ReadableStore, "get">;
  /** undefined: of a machine without a WAL. */
  readonly wal: WalReader | undefined;
  readonly rows: RowFiles;
  /** Nothing moves while it is read: a segment that cannot be opened has no rows. */
  readonly isStill?: boolean;
}

/** The rows of one statement. */
export interface Answer {
  readonly location: string | undefined;
  readonly table: readonly number[];
  readonly wal: readonly number[];
}

/** Errors: `not_found` for what went meanwhile; those of the network and the disk. */
export async function readAnswer(source: AnswerSource): Promise<Answer> {
  const { table, pending } = await readSnapshot(source, EVENTS, EVENTS_LANE);
  const answer = { location: table?.metadataLocation, table: [] as number[], wal: [] as number[] };
  const { files } = table === undefined ? { files: [] } : await source.tables.selectFiles(table);
  for (const { key } of files) {
    await source.store.get(key);
    answer.table.push(...await source.rows.numbersOf(key));
  }
  for (const name of pending) answer.wal.push(...await numbersOfSegment(source, name));
  return answer;
}

/** What is damaged has no rows, as in a statement's answer, which says so. */
async function numbersOfSegment(source: AnswerSource, name: string): Promise<readonly number[]> {
  const { wal, rows, isStill = false } = source;
  const numbers: number[] = [];
  try {
    await using segment = await wal?.open(EVENTS_LANE, name);
    if (segment === undefined) return [];
    for await (const frame of segment.frames(undefined, { onDamage: () => {} })) {
      numbers.push(...rows.numbersOfFrame(name, frame, segment.schemaMessage));
    }
  } catch (error) {
    if (isUnfinishedSegment(error)) return numbers;
    const isGone = isStill && isOperatingError(error, "not_found");
    if (!isGone && !isOperatingError(error, "corrupt")) throw error;
  }
  return numbers;
}

/** What the model knew when a statement began. */
export interface Asked {
  /** Commits by then. */
  readonly states: number;
  /** Rows that its answer has to have, unless they are deleted meanwhile. */
  readonly owed: readonly number[];
}

/** `machine`: beside whose WAL it is asked. */
export function ask(truth: Truth, machine: string): Asked {
  const owed = [...truth.rows.values()]
    .filter((row) => truth.isOwed(row, machine) && !truth.deleted.has(row.number))
    .map(({ number }) => number);
  return { states: truth.states.length, owed };
}

/**
 * The answer is the table at one moment since `asked`, and the WAL beside it: each row once, none
 * missing, none that was deleted by that moment.
 */
export function checkAnswer(truth: Truth, { states, owed }: Asked, answer: Answer): void {
  const { location } = answer;
  const state = location === undefined ? undefined : truth.stateAt(location);
  const index = state?.index ?? -1;
  requirePromise(index >= states - 1, () => `an answer is as old as commit ${index}, of ${states}`);
  const seen = new Set<number>();
  for (const number of [...answer.table, ...answer.wal]) {
    requirePromise(truth.rows.has(number), () => `row ${number} was answered, and never sent`);
    requirePromise(!seen.has(number), () => `row ${number} was answered twice`);
    seen.add(number);
  }
  const rows = state?.rows ?? new Set();
  requirePromise(
    rows.size === answer.table.length && answer.table.every((number) => rows.has(number)),
    () => `${answer.table.length} rows of the table were answered, of ${rows.size}`,
  );
  const goneBy = (number: number) => (truth.deleted.get(number) ?? Infinity) <= index;
  for (const number of answer.wal) {
    requirePromise(!goneBy(number), () => `row ${number} was answered, and is deleted`);
  }
  for (const number of owed) {
    requirePromise(
      seen.has(number) || goneBy(number),
      () => `row ${number} is acknowledged, and was not answered`,
    );
  }
}
