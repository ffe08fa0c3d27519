/**
 * Rows of sorted data files, merged in order of time and written as JSON. DuckDB would decode, sort
 * and render them, and their bytes would cross from its process to this one.
 */

import { othersTurn } from "../../base/others_turn.ts";
import type { TextChunk } from "../duckdb/driver.ts";
import type { DataFileLease } from "../files/data_files.ts";
import type { FilePart } from "../plan/plan.ts";
import { type CursorColumns, cursorColumns, FileCursor } from "./file_cursor.ts";
import { JsonBytes } from "./json_bytes.ts";
import type { JsonRowsForm } from "./json_rows_form.ts";

/** Bytes of a chunk, but for a row that has more. Larger arrays have pages of their own. */
const CHUNK_BYTES = 120 * 1024;
/** After so long others have a turn. */
const BUSY_MS_MAX = 8;

/**
 * At most `rowsMax` rows of `parts`. A part is opened once its first row may be next. Errors: the
 * store's; others for a damaged file.
 */
export async function* jsonRows(
  form: JsonRowsForm,
  { parts, lease, rowsMax, nowMs }: {
    readonly parts: readonly FilePart[];
    readonly lease: Pick<DataFileLease, "footer" | "open">;
    readonly rowsMax: number;
    readonly nowMs: () => number;
  },
): AsyncGenerator<TextChunk> {
  await using cursors = new Cursors(form, parts, lease);
  let chunk = new RowsChunk(CHUNK_BYTES);
  let busySinceMs = nowMs();
  for (let left = rowsMax; left > 0;) {
    const cursor = await cursors.nearest();
    if (cursor === undefined) break;
    if (chunk.rows === 0 && cursor.nextBytesMax > chunk.json.left) {
      chunk = new RowsChunk(cursor.nextBytesMax);
    }
    const before = chunk.rows;
    const written = () => chunk.end();
    cursor.write(chunk.json, { rows: left, upTo: cursors.keyBehind(cursor), written });
    left -= chunk.rows - before;
    if (!cursor.isBare && left > 0 && chunk.rows > before && !chunk.isFull(cursor)) continue;
    if (cursor.isOver) await cursors.close(cursor);
    else if (cursor.isBare) await cursor.load();
    else if (chunk.rows > 0) {
      yield chunk.done();
      chunk = new RowsChunk(CHUNK_BYTES);
      if (nowMs() - busySinceMs < BUSY_MS_MAX) continue;
      await othersTurn();
      busySinceMs = nowMs();
    }
  }
  if (chunk.rows > 0) yield chunk.done();
}

/** Rows that go out together. */
class RowsChunk {
  readonly json: JsonBytes;
  readonly #ends: number[] = [];

  constructor(bytes: number) {
    this.json = new JsonBytes(bytes);
  }

  get rows(): number {
    return this.#ends.length;
  }

  end(): void {
    this.#ends.push(this.json.at);
  }

  isFull(cursor: FileCursor): boolean {
    return cursor.nextBytesMax > this.json.left;
  }

  done(): TextChunk {
    const { bytes } = this.json;
    const ends = this.#ends;
    return {
      rowCount: ends.length,
      bytes: (rows = ends.length) => bytes.subarray(0, rows === 0 ? 0 : ends[rows - 1]),
      ends: () => Uint32Array.from(ends),
    };
  }
}

/** The files that are read at the same time, and those that are read later. */
class Cursors implements AsyncDisposable {
  readonly #open = new Set<FileCursor>();
  readonly #spare: CursorColumns[] = [];
  /** The next one last. */
  readonly #pending: { readonly part: FilePart; readonly key: number }[];

  constructor(
    private readonly form: JsonRowsForm,
    parts: readonly FilePart[],
    private readonly lease: Pick<DataFileLease, "footer" | "open">,
  ) {
    this.#pending = parts.map((part) => ({ part, key: nearKey(part, form) }))
      .sort((a, b) => b.key - a.key);
  }

  /** The one with the next row, which is at hand. */
  async nearest(): Promise<FileCursor | undefined> {
    for (;;) {
      const nearest = this.#least();
      const pending = this.#pending.at(-1);
      if (pending === undefined || nearest !== undefined && nearest.key < pending.key) {
        return nearest;
      }
      this.#pending.pop();
      const memory = this.#spare.pop() ?? cursorColumns(this.form);
      const { form, lease } = this;
      this.#open.add(await FileCursor.open(form, { part: pending.part, lease, memory }));
    }
  }

  /** The key of the first row that may be in another one. */
  keyBehind(cursor: FileCursor): number {
    return Math.min(this.#least(cursor)?.key ?? Infinity, this.#pending.at(-1)?.key ?? Infinity);
  }

  async close(cursor: FileCursor): Promise<void> {
    this.#open.delete(cursor);
    this.#spare.push(cursor.memory);
    await cursor[Symbol.asyncDispose]();
  }

  #least(but?: FileCursor): FileCursor | undefined {
    let least: FileCursor | undefined;
    for (const cursor of this.#open) {
      if (cursor !== but && (least === undefined || cursor.key < least.key)) least = cursor;
    }
    return least;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cursor of this.#open) await cursor[Symbol.asyncDispose]();
  }
}

/** The least key that a row of the part can have. */
function nearKey({ times: { timestampNsMin, timestampNsMax } }: FilePart, form: JsonRowsForm) {
  const ns = form.direction === "newest" ? timestampNsMax : timestampNsMin;
  if (ns === undefined) return -Infinity;
  const micros = Number(ns / 1_000n);
  return form.direction === "newest" ? -micros - 1 : micros - 1;
}
