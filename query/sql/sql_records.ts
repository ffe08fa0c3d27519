/**
 * A records answer, docs/api/query.md#records-answer. Its status depends on its last row: 413 when
 * the cap was hit. So rows are held, as bytes and up to `RECORDS_BYTES_MAX`, until the query has
 * ended.
 */

import { formatBytes, utf8 } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import type { Cost, ResultChunk, RunningQuery, Stats } from "../../shared/engine/types.ts";
import type { ByteBudget, ByteHold } from "../../shared/base/byte_budget.ts";
import { growAnswer, heldAnswer } from "./held_answer.ts";
import { RECORDS_BYTES_MAX } from "../limits.ts";
import type { SqlCall } from "./sql_call.ts";
import type { SqlRequest } from "./sql_request.ts";

/**
 * Runs the prepared statement to its end and renders its rows. What the answer holds is charged to
 * `budget` until it is sent.
 */
export async function recordsResponse(
  call: SqlCall,
  budget: ByteBudget,
  { types: hasTypes }: Pick<SqlRequest, "types">,
): Promise<Response> {
  const seen = { rows: 0 };
  for (;;) {
    try {
      return await recordsOf(call, { budget, seen, hasTypes });
    } catch (error) {
      // Rows that came were not sent yet, so the statement may begin anew.
      if (!await call.isBegunAnew(error, seen.rows)) throw error;
      seen.rows = 0;
    }
  }
}

async function recordsOf(
  call: SqlCall,
  { budget, seen, hasTypes }: {
    readonly budget: ByteBudget;
    readonly seen: { rows: number };
    readonly hasTypes: boolean;
  },
): Promise<Response> {
  const running = await call.run();
  const rowsMax = call.limits.rowsReturnedMax;
  const hold = budget.hold(call.tenant);
  try {
    const bytesMax = Math.min(RECORDS_BYTES_MAX, budget.bytesMax);
    const rows = await collectRows(call, running.chunks("arrays"), {
      ...{ rowsMax, bytesMax, hold, seen },
    });
    const { head, tail } = recordsFrame({
      columns: running.columns.map((column) => column.name),
      ...(hasTypes ? { types: running.columns.map((column) => column.type) } : {}),
      rowCount: rows.count,
      ...(rows.truncated ? { rowsMax } : {}),
      approximation: running.approximation,
      cost: call.prepared.cost,
      stats: await running.stats(),
    });
    const parts = [utf8(head), ...rows.parts, utf8(tail)];
    call.end(rows.truncated ? "truncated" : "ok", { rowsReturned: rows.count });
    return heldAnswer(parts, hold, rows.truncated ? 413 : 200);
  } catch (error) {
    hold[Symbol.dispose]();
    throw error;
  }
}

/** The members of a records answer besides its rows. */
export interface RecordsFields {
  readonly columns: readonly string[];
  /** DuckDB's types of the columns; set when the request asks for them. */
  readonly types?: readonly string[];
  readonly rowCount: number;
  /** The cap; set when it cut rows. */
  readonly rowsMax?: number;
  readonly approximation: RunningQuery["approximation"];
  readonly cost: Cost;
  readonly stats: Stats;
}

/** The text before the rows of a records response, and the text after them. */
export function recordsFrame(
  fields: RecordsFields,
): { readonly head: string; readonly tail: string } {
  const { columns, types, rowCount, rowsMax, approximation, cost, stats } = fields;
  const cut = rowsMax === undefined ? "" : `,"truncated":true,"max_rows":${rowsMax}`;
  const bounds = approximation === undefined
    ? ""
    : `,"approximation":${JSON.stringify(approximation)}`;
  const typed = types === undefined ? "" : `"types":${JSON.stringify(types)},`;
  return {
    head: `{"columns":${JSON.stringify(columns)},${typed}"row_count":${rowCount},"rows":[`,
    tail: `]${cut}${bounds},"cost":${JSON.stringify(cost)},"stats":${JSON.stringify(stats)}}`,
  };
}

interface CollectedRows {
  /** Together these are the rows' JSON texts with commas between them. */
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  readonly count: number;
  /** Whether there was a row after the last one allowed. */
  readonly truncated: boolean;
}

async function collectRows(
  call: SqlCall,
  chunks: AsyncIterable<ResultChunk>,
  { rowsMax, bytesMax, hold, seen }: {
    rowsMax: number;
    bytesMax: number;
    hold: ByteHold;
    seen: { rows: number };
  },
): Promise<CollectedRows> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let count = 0;
  let bytes = 0;
  let truncated = false;
  for await (const chunk of chunks) {
    call.throwIfStopped();
    const rows = Math.min(chunk.rowCount, rowsMax - count);
    seen.rows += chunk.rowCount;
    truncated ||= chunk.rowCount > rows;
    if (rows === 0) continue;
    const part = chunk.bytes(rows);
    bytes += part.byteLength;
    if (bytes > bytesMax) throw answerTooLarge(count, bytesMax);
    growAnswer(hold, part.byteLength);
    parts.push(part);
    count += rows;
  }
  call.throwIfStopped();
  const last = parts.pop();
  if (last !== undefined) parts.push(last.subarray(0, -1)); // Each row ends with a comma.
  return { parts, count, truncated };
}

function answerTooLarge(rowsHeld: number, bytesMax: number): OperatingError {
  return new OperatingError(
    "too_large",
    `Cannot hold the answer: what follows its first ${rowsHeld} rows exceeds ` +
      `${formatBytes(bytesMax)}; ask for format "ndjson", which streams, ` +
      "or for fewer rows or columns",
    { reason: "answer_bytes" },
  );
}
