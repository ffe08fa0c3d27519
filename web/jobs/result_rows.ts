/**
 * The rows of a job's result, read from the stream of a records answer
 * (docs/api/query.md#records-answer) one by one: a result may be larger than a page can hold.
 */

import { parseExact } from "../api/exact_json.ts";
import type { Value } from "../api/sql_client.ts";

/** What stands before the rows. */
export interface ResultHead {
  readonly columns: readonly string[];
  readonly row_count?: number;
  readonly truncated?: boolean;
}

/** A piece of a result: its head first, once. */
export interface ResultPiece {
  readonly head: ResultHead;
  readonly rows: readonly (readonly Value[])[];
}

/** No text inside the JSON can be equal to it: there its quotes are escaped. */
const ROWS = '"rows":[';

/** Reads texts as they come. Errors: `SyntaxError` where the answer ends in the middle. */
export async function* resultPieces(texts: AsyncIterable<string>): AsyncGenerator<ResultPiece> {
  let head: ResultHead | undefined;
  let text = "";
  const rows = new RowScanner();
  for await (const part of texts) {
    if (head !== undefined) {
      yield { head, rows: rows.push(part) };
      continue;
    }
    text += part;
    const at = text.indexOf(ROWS);
    if (at < 0) continue;
    const start = at + ROWS.length;
    head = JSON.parse(`${text.slice(0, start)}]}`) as ResultHead;
    yield { head, rows: rows.push(text.slice(start)) };
  }
  if (head === undefined || !rows.isDone) throw new SyntaxError("the result ends in the middle");
}

/** Takes rows out of the text of an array of arrays, however it is cut. */
class RowScanner {
  #text = "";
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  isDone = false;

  push(part: string): (readonly Value[])[] {
    const found: (readonly Value[])[] = [];
    let start = 0;
    for (let at = 0; at < part.length && !this.isDone; at += 1) {
      const before = this.#depth;
      this.#take(part[at] ?? "");
      if (before === 0 && this.#depth === 1) {
        this.#text = "";
        start = at;
      } else if (before === 1 && this.#depth === 0) {
        found.push(parseExact(this.#text + part.slice(start, at + 1)) as readonly Value[]);
        start = at + 1;
      }
    }
    this.#text = this.#depth > 0 ? this.#text + part.slice(start) : "";
    return found;
  }

  #take(character: string): void {
    if (this.#inString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === "\\") this.#isEscaped = true;
      else if (character === '"') this.#inString = false;
    } else if (character === '"') this.#inString = true;
    else if (character === "[" || character === "{") this.#depth += 1;
    else if (character === "]" || character === "}") {
      if (this.#depth === 0) this.isDone = true;
      else this.#depth -= 1;
    }
  }
}

/** A line of RFC 4180, as `"format":"csv"` writes it: texts in quotes, null as an empty cell. */
export function csvLine(cells: readonly Value[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(value: Value): string {
  if (value === null) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `"${text.replaceAll('"', '""')}"`;
}
