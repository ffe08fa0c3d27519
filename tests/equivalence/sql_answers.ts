/** Answers over HTTP, and the rows that they must have. */

import assert from "node:assert/strict";
import { inFormOf, parseDigits, type PlainAnswer, sortKey } from "./plain_rows.ts";
import type { Statement } from "./sql_statements.ts";

export interface Records {
  readonly columns: readonly string[];
  readonly types?: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly stats?: unknown;
}

export const HEADERS = { "content-type": "application/json" };

export async function askRecords(
  url: string,
  query: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Records> {
  const response = await fetch(url, {
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify({ query, ...fields }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, `${query}: ${text}`);
  const answer = parseDigits(text) as Records & { row_count: { digits: string } };
  assert.equal(Number(answer.row_count.digits), answer.rows.length);
  return answer;
}

/** In the statement's order, or in one of ours where it leaves the order open. */
export function assertSameRows(
  actual: readonly (readonly unknown[])[],
  expected: PlainAnswer,
  { sql }: Statement,
): void {
  const ordered = /\bORDER BY (?:(?!\bOVER\b)[^()]|\([^()]*\))*$/i.test(sql);
  const arranged = <T>(rows: readonly T[]) =>
    ordered ? rows : rows.toSorted((a, b) => placeOf(a) < placeOf(b) ? -1 : 1);
  const wanted = arranged(expected.rows);
  const found = arranged(actual).map((row, i) => inFormOf(wanted[i] ?? [], row));
  assert.deepEqual(found, wanted);
}

/** Rows whose numbers are nearly the same come by their digits. */
function placeOf(row: unknown): string {
  return `${sortKey(row)} ${JSON.stringify(row).replaceAll(/\{"digits":"([^"]*)"\}/g, "$1")}`;
}
