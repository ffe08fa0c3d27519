/**
 * What senders were promised, and what of it a reader must find. Each row has an id of its own,
 * `<f7.3>`: row 3 of request 7. A row that was
 *
 * - acknowledged with `wait_for` or `force` is there exactly once, from then on for ever,
 * - sent without an answer, or with `auto` before a power cut, is there once or not at all, and its
 *   request as a whole or not at all,
 * - seen after a restart stays,
 * - acknowledged before a delete task that takes it was accepted is gone when the task is done.
 */

import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

/** How often each row of each table is there. */
export type RowCounts = ReadonlyMap<string, ReadonlyMap<string, number>>;

export interface SentRequest {
  readonly number: number;
  readonly table: string;
  readonly rows: number;
  readonly mode: CommitMode;
  /** Whether its rows have a `source` that no other request has. */
  readonly isNamed: boolean;
  /** Whether its rows may be older than their table keeps them: they go at any time. */
  readonly mayExpire?: boolean;
}

export type CommitMode = "auto" | "wait_for" | "force";
/** A delete task takes the rows: it may have been accepted, or it is done. */
type Doom = "begun" | "done";

/** What a check that begins now may ask for. */
export interface Promises {
  /** Requests whose rows must be there. */
  readonly there: ReadonlySet<number>;
  /** Requests whose rows went, as the table's retention wants, and must not come back. */
  readonly gone: ReadonlySet<number>;
}

interface Entry extends SentRequest {
  isAcknowledged: boolean;
  /** Whether a reader that came later than its acknowledgement found that its rows went. */
  isGone: boolean;
  /** Whether a row of it may be missing no more. */
  mustBeThere: boolean;
  /** Whether a part of its rows may have been refused. */
  isPartial: boolean;
  doom: Doom | undefined;
}

export interface Verdict {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  /** Rows of requests that are there in part. */
  readonly torn: readonly string[];
  /** Rows that nobody sent, or deleted rows that came back. */
  readonly foreign: readonly string[];
  /** Rows that were compared. */
  readonly compared: number;
}

const ROW_ID = /<f(\d+)\.(\d+)>/g;

/** The row's text, which ends with its id. */
export function rowText(request: number, row: number): string {
  return `fault harness row <f${request}.${row}>`;
}

/** Ids that are in `text`, as `request.row`. */
export function idsIn(text: string): readonly string[] {
  return Array.from(text.matchAll(ROW_ID), ([, request, row]) => `${request}.${row}`);
}

export class Ledger {
  readonly #entries: Entry[] = [];

  get requests(): number {
    return this.#entries.length;
  }

  /** Names of the tables that rows were sent to. */
  get tables(): ReadonlySet<string> {
    return new Set(this.#entries.map(({ table }) => table));
  }

  get acknowledgedRows(): number {
    return this.#entries.reduce((sum, { isAcknowledged, rows }) => {
      return sum + (isAcknowledged ? rows : 0);
    }, 0);
  }

  /** Notes a request before it is sent. */
  begin(request: Omit<SentRequest, "number">): SentRequest {
    const entry: Entry = {
      ...request,
      number: this.#entries.length,
      isAcknowledged: false,
      isGone: false,
      mustBeThere: false,
      isPartial: false,
      doom: undefined,
    };
    this.#entries.push(entry);
    return entry;
  }

  acknowledge(number: number): void {
    const entry = this.#entryOf(number);
    entry.isAcknowledged = true;
    if (entry.mode !== "auto") entry.mustBeThere = true;
  }

  /** A part of the request's rows was refused: any of the others may be there. */
  acknowledgePart(number: number): void {
    this.#entryOf(number).isPartial = true;
  }

  /** A request whose rows a delete task can take; undefined when there is none. */
  doomable(random: SeededRandom): number | undefined {
    const named = this.#entries.filter((entry) =>
      entry.isNamed && entry.mustBeThere && entry.doom === undefined
    );
    return named[random.below(named.length)]?.number;
  }

  doom(number: number, doom: Doom): void {
    this.#entryOf(number).doom = doom;
  }

  promises(): Promises {
    const numbers = (of: (entry: Entry) => boolean) =>
      new Set(this.#entries.filter(of).map(({ number }) => number));
    return {
      there: numbers(({ mustBeThere }) => mustBeThere),
      gone: numbers(({ isGone }) => isGone),
    };
  }

  /** Requests that may expire and that no check has found gone. */
  get overdue(): number {
    return this.#entries.filter(({ mayExpire, mustBeThere, isGone }) => {
      return mayExpire && mustBeThere && !isGone;
    }).length;
  }

  /** Requests that a check has found gone by their retention. */
  get expired(): number {
    return this.#entries.filter(({ isGone }) => isGone).length;
  }

  /** A killed process loses nothing that was written: rows of `auto` must be there, too. */
  includeAuto(): void {
    for (const entry of this.#entries) if (entry.isAcknowledged) entry.mustBeThere = true;
  }

  /** Compares what a reader found with `promised`. With `pin` what it found must stay. */
  check(found: RowCounts, promised: Promises, { pin = false } = {}): Verdict {
    const verdict = { lost: [], doubled: [], torn: [], foreign: [] } as Findings;
    let compared = 0;
    for (const entry of this.#entries) {
      const counts = found.get(entry.table);
      const isPromised = promised.there.has(entry.number);
      const mayGo = entry.mayExpire === true || entry.doom !== undefined;
      let there = 0;
      for (let row = 0; row < entry.rows; row += 1) {
        const count = counts?.get(`${entry.number}.${row}`) ?? 0;
        if (count > 0) there += 1;
        if (count > 1) verdict.doubled.push(name(entry, row));
        else if (count === 0 && isPromised && !mayGo) verdict.lost.push(name(entry, row));
      }
      compared += entry.rows;
      if (entry.doom === "done" && there > 0) verdict.foreign.push(`${name(entry, 0)} (deleted)`);
      if (promised.gone.has(entry.number) && there > 0) {
        verdict.foreign.push(`${name(entry, 0)} (expired)`);
      }
      if (pin && entry.mayExpire && isPromised && there === 0) entry.isGone = true;
      const isWhole = there === 0 || there === entry.rows;
      if (!isWhole && !entry.isPartial && entry.doom === undefined) {
        verdict.torn.push(`${name(entry, 0)} (${there} of ${entry.rows})`);
      }
      if (pin && there === entry.rows && entry.doom === undefined) entry.mustBeThere = true;
    }
    verdict.foreign.push(...this.#unsent(found));
    return { ...verdict, compared };
  }

  *#unsent(found: RowCounts): Generator<string> {
    for (const [table, counts] of found) {
      for (const id of counts.keys()) {
        const [number = -1, row = -1] = id.split(".").map(Number);
        const entry = this.#entries[number];
        if (entry?.table !== table || row >= entry.rows) yield `${table} ${id}`;
      }
    }
  }

  #entryOf(number: number): Entry {
    const entry = this.#entries[number];
    if (entry === undefined) throw new Error(`nobody sent request ${number}`);
    return entry;
  }
}

type Findings = { [name in "lost" | "doubled" | "torn" | "foreign"]: string[] };

/** A verdict's findings as sentences; none when all is well. */
export function findingsOf(verdict: Verdict, where: string): readonly string[] {
  const kinds = ["lost", "doubled", "torn", "foreign"] as const;
  return kinds.flatMap((kind) => {
    const rows = verdict[kind];
    if (rows.length === 0) return [];
    const more = rows.length > 3 ? ", …" : "";
    return [`${where}: ${rows.length} rows ${kind}: ${rows.slice(0, 3).join(", ")}${more}`];
  });
}

function name({ table, number, mode }: SentRequest, row: number): string {
  return `${table} ${number}.${row} (${mode})`;
}
