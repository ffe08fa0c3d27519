/**
 * The result of a job: rows as they come from DuckDB. Few rows are kept as one text, many as files
 * in the warehouse. Both give the same records response (docs/api/query.md#records-answer).
 */

import { concatBytes, formatBytes, textOf } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import type { StoredResult } from "../../shared/catalog/job_store.ts";
import type { RunningQuery } from "../../shared/engine/types.ts";
import { recordsFrame } from "../sql/sql_records.ts";
import type { SqlCall } from "../sql/sql_call.ts";
import { INLINE_BYTES_MAX, PART_BYTES, RESULT_BYTES_MAX } from "./limits.ts";
import { ROW_JOINT } from "./result_parts.ts";

/** A whole result, with its rows, bytes and the rows that were scanned for it. */
export interface CollectedResult {
  readonly result: StoredResult;
  readonly rowCount: number;
  readonly truncated: boolean;
  readonly byteLength: number;
  readonly rowsScanned: number;
}

/** Stores one file of rows that each end with `ROW_JOINT`. */
export type PutPart = (part: number, rows: readonly Uint8Array[]) => Promise<void>;

/**
 * Takes all rows of a running statement. Errors: the statement's, the warehouse's, `too_large`.
 */
export async function collectResult(
  call: SqlCall,
  running: RunningQuery,
  putPart: PutPart,
): Promise<CollectedResult> {
  const { rowsReturnedMax: rowsMax } = call.limits;
  const rows = new RowCollector(putPart);
  /** Set for a run that is cut short, which has no profile. */
  let rowsTaken: number | undefined;
  for await (const chunk of running.chunks("array_lines")) {
    call.throwIfStopped();
    await rows.add(chunk, rowsMax);
    call.throwIfStopped();
    if (rows.truncated) {
      rowsTaken = running.progress().rows;
      break;
    }
  }
  call.throwIfStopped();
  const { text, parts } = await rows.finish();
  const stats = rowsTaken === undefined
    ? await running.stats()
    : { ...await running.stats(), rows_scanned: rowsTaken };
  const frame = recordsFrame({
    columns: running.columns.map((column) => column.name),
    rowCount: rows.count,
    ...(rows.truncated ? { rowsMax } : {}),
    approximation: running.approximation,
    cost: call.prepared.cost,
    stats,
  });
  return {
    result: { ...frame, rows: text, parts },
    rowCount: rows.count,
    truncated: rows.truncated,
    byteLength: rows.byteLength,
    rowsScanned: stats.rows_scanned,
  };
}

class RowCollector {
  readonly #putPart: PutPart;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #parts = 0;
  count = 0;
  byteLength = 0;
  truncated = false;

  constructor(putPart: PutPart) {
    this.#putPart = putPart;
  }

  async add(
    chunk: { readonly rowCount: number; bytes(rows?: number): Uint8Array },
    rowsMax: number,
  ): Promise<void> {
    const rows = Math.min(chunk.rowCount, rowsMax - this.count);
    this.truncated ||= chunk.rowCount > rows;
    if (rows === 0) return;
    const bytes = chunk.bytes(rows);
    this.count += rows;
    this.byteLength += bytes.byteLength;
    if (this.byteLength > RESULT_BYTES_MAX) throw resultTooLarge();
    this.#held.push(bytes);
    this.#heldBytes += bytes.byteLength;
    if (this.#heldBytes >= PART_BYTES) await this.#flush();
  }

  async finish(): Promise<{ readonly text: string | undefined; readonly parts: number }> {
    if (this.#parts === 0 && this.#heldBytes <= INLINE_BYTES_MAX) {
      const text = textOf(concatBytes(this.#held));
      return { text: text.slice(0, -ROW_JOINT.length), parts: 0 };
    }
    if (this.#heldBytes > 0) await this.#flush();
    return { text: undefined, parts: this.#parts };
  }

  async #flush(): Promise<void> {
    await this.#putPart(this.#parts, this.#held);
    this.#parts += 1;
    this.#held = [];
    this.#heldBytes = 0;
  }
}

function resultTooLarge(): OperatingError {
  return new OperatingError(
    "too_large",
    `Cannot keep the result: its rows exceed ${formatBytes(RESULT_BYTES_MAX)}; ` +
      "ask for fewer rows or columns, or for an interactive stream",
    { reason: "answer_bytes" },
  );
}
