/** What tests of the page SQL do again and again. */

import type { Page } from "playwright-core";

/** The day before yesterday, in UTC: the page offers attributes of the last week alone. */
const START_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 2 * 86_400_000;
export const START_NS = BigInt(START_MS) * 1_000_000n;
/** The start as a result shows it. */
export const START_TEXT = new Date(START_MS).toISOString().replace("000Z", "000000Z");

/** The browser tells of a statement that the server refused. */
export const REFUSED = /status of 400/;

/** Rows of three hosts, a second apart; every third is an error. */
export function sqlRows(rows: number) {
  return Array.from({ length: rows }, (_, at) => ({
    ns: START_NS + BigInt(at) * 1_000_000_000n,
    host: `web-${at % 3}`,
    raw: `GET /item/${at} took ${at % 97} ms`,
    attributes: JSON.stringify({ "http.status_code": [200, 404, 500][at % 3] }),
  }));
}

/** Types a statement in place of what is there. */
export async function typeSql(page: Page, sql: string): Promise<void> {
  await page.click(".cm-content");
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(sql);
}

/** Types a statement, runs it by its key, and waits until nothing runs. */
export async function runSql(page: Page, sql: string): Promise<void> {
  await typeSql(page, sql);
  await page.keyboard.press("Control+Enter");
  await untilRun(page);
}

/** Waits until an outcome is shown and nothing runs. */
export async function untilRun(page: Page): Promise<void> {
  await page.locator(".sql-result[aria-busy=false] .cost .where").waitFor();
}

/** The cells of a row, counted from one; without the number of the row. */
export async function cellsOf(page: Page, row: number): Promise<readonly string[]> {
  const cells = await page.locator(`tbody tr[aria-rowindex="${row + 1}"] td`).allTextContents();
  return cells.slice(1);
}

export function costLine(page: Page): Promise<string | null> {
  return page.textContent(".sql-result .cost");
}
