/**
 * Data files of which few rows are read as few rows. An index tells which rows of a part are
 * wanted, or an ordered scan chose a range. Where they are few, their pages are read here, and
 * DuckDB is given the values. All else of a plan is brought as it is.
 *
 * Nothing depends on it: a part that cannot be read so is scanned, and the scan tells what is wrong
 * with its file.
 */

import { FEW_ROWS_MAX, FEW_ROWS_READS_MAX } from "../../limits.ts";
import {
  type FilePart,
  partRows,
  type Plan,
  type ReadRows,
  rowsOfParts,
  type ScanPart,
  type TablePlan,
} from "../../plan/plan.ts";
import { ALL } from "../../pruning/predicate.ts";
import type { DataFileLease, DataFiles, FileCacheCounts } from "../data_files.ts";
import { LeaseOver } from "../lease_over.ts";
import type { KeptPages } from "./kept_pages.ts";
import { pay, type PaysPages } from "./page_price.ts";
import { readPartRows } from "./read_part_rows.ts";

/** What reads few rows. */
export interface FewRowsOptions {
  readonly pages: KeptPages;
  /** For tests, in place of the price. */
  readonly pays?: PaysPages | undefined;
}

/** `inner` brings what is not read here. */
export class FewRowsDataFiles implements DataFiles {
  constructor(private readonly inner: DataFiles, private readonly options: FewRowsOptions) {}

  lease(signal: AbortSignal): DataFileLease {
    const { pages, pays = pay } = this.options;
    return new FewRowsLease(this.inner.lease(signal), { signal, pays, pages });
  }
}

class FewRowsLease extends LeaseOver {
  readonly decoded?: FileCacheCounts;
  readonly pages: KeptPages;
  readonly #signal: AbortSignal;
  readonly #pays: PaysPages;

  constructor(
    inner: DataFileLease,
    { signal, pays, pages }: {
      readonly signal: AbortSignal;
      readonly pays: PaysPages;
      readonly pages: KeptPages;
    },
  ) {
    super(inner);
    this.pages = pages;
    this.#signal = signal;
    this.#pays = pays;
    if (inner.decoded !== undefined) this.decoded = inner.decoded;
  }

  async bring(plan: Plan): Promise<Plan> {
    const read = await Promise.all(plan.tables.map((table) => this.#readOf(table)));
    if (read.every((parts) => parts.size === 0)) return await this.inner.bring(plan);
    const rest = plan.tables.map((table, at) => ({
      ...table,
      parts: table.parts.filter((part) => read[at]?.has(part) !== true),
    }));
    const brought = await this.inner.bring({ ...plan, tables: rest });
    return {
      ...brought,
      tables: brought.tables.map((table, at) => ({
        ...table,
        parts: [...table.parts, ...read[at]?.values() ?? []],
      })),
    };
  }

  /** Parts of a table whose rows were read, each with what became of it. */
  async #readOf(table: TablePlan): Promise<ReadonlyMap<ScanPart, ScanPart>> {
    const read = new Map<ScanPart, ScanPart>();
    const waiting = fewest(table);
    const worker = async () => {
      for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
        this.#signal.throwIfAborted();
        const rows = await this.#rowsOf(part, table);
        if (rows !== undefined) read.set(part, { ...part, source: { kind: "rows", ...rows } });
      }
    };
    await Promise.all(Array.from({ length: FEW_ROWS_READS_MAX }, worker));
    return read;
  }

  async #rowsOf(part: FilePart, { projected, pruned }: TablePlan): Promise<ReadRows | undefined> {
    const wanted = { part, columns: projected, condition: pruned?.condition ?? ALL };
    try {
      return await readPartRows(wanted, { lease: this, pays: this.#pays });
    } catch {
      // The scan tells what is wrong.
      this.#signal.throwIfAborted();
      return undefined;
    }
  }
}

/** The parts whose rows are known, those with the fewest first, as far as all of them are few. */
function fewest({ parts, ordered }: TablePlan): FilePart[] {
  const chosen: FilePart[] = [];
  let rows = 0;
  const ofFiles = parts.filter((part) => part.origin === "file");
  const isRangeKnown = ordered && rowsOfParts(ofFiles) <= FEW_ROWS_MAX;
  const known = ofFiles
    .filter(({ rowNumbers, range }) => rowNumbers !== undefined || isRangeKnown && range)
    .sort((a, b) => partRows(a) - partRows(b));
  for (const part of known) {
    rows += partRows(part);
    if (rows > FEW_ROWS_MAX) break;
    chosen.push(part);
  }
  return chosen;
}
