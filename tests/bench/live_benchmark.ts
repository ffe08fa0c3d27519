/**
 * Live rows of the page Logs in Chromium, on the whole stack as processes. How long a key waits for
 * the page while thousands of rows a second come; how soon a row is shown once acknowledged.
 */

import type { Page } from "playwright-core";
import { Stack } from "../apps/stack.ts";
import { launchChromium } from "../clients/chromium.ts";
import { buildPage } from "../web/page_lab.ts";
import { type Benchmark, formatCount, formatMs, median, percentile } from "./benchmark.ts";
import { sendSteadily } from "./steady_sender.ts";

const ROWS_PER_SEC = 5_000;
const KEY_PERIOD_MS = 200;
const WAIT_P95_MS_MAX = 100;
const SHOWN_MS_MAX = 1_000;
const SHOW_DEADLINE_MS = 10_000;
const MARKED_ROWS = 8;
const SEARCH = "#search";

export const LIVE: Benchmark = {
  name: "live",
  summary: "live rows of the page Logs in Chromium at 5,000 rows/s",
  sizes: { small: { rows: 0, seconds: 15 }, full: { rows: 0, seconds: 60 } },
  async run({ seconds }) {
    await buildPage();
    await using stack = await Stack.start();
    const browser = await launchChromium();
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      await page.goto(`${stack.queryUrl}/ui/?live=1`);
      await page.getByText("connecting…").waitFor({ state: "detached" });
      const shown: number[] = [];
      for (let at = 0; at < MARKED_ROWS; at += 1) shown.push(await shownMs(stack, page, at));
      const over = new AbortController();
      const load = sendSteadily(stack.ingestUrl, ROWS_PER_SEC, over.signal);
      const waits = await keyWaits(page, seconds);
      over.abort();
      const rate = await load;
      const p95 = percentile(waits, 0.95);
      return [
        {
          what: `a key waits for the page at ${formatCount(rate)} live rows/s`,
          ours: `p95 ${formatMs(p95)}, median ${formatMs(median(waits))}`,
          reference: `${waits.length} keys, the longest ${formatMs(Math.max(...waits))}`,
          ratio: "",
          target: `p95 < ${WAIT_P95_MS_MAX} ms at ${formatCount(ROWS_PER_SEC)} rows/s`,
          reached: p95 < WAIT_P95_MS_MAX && rate >= 0.95 * ROWS_PER_SEC,
        },
        {
          what: "acknowledged → shown on a live page",
          ours: `median ${formatMs(median(shown))}`,
          reference: `the longest of ${MARKED_ROWS} ${formatMs(Math.max(...shown))}`,
          ratio: "",
          target: `< ${SHOWN_MS_MAX / 1_000} s`,
          reached: Math.max(...shown) < SHOWN_MS_MAX,
        },
      ];
    } finally {
      await browser.close();
    }
  },
};

/** Types into the search; the milliseconds from each key until the page could take it. */
async function keyWaits(page: Page, seconds: number): Promise<readonly number[]> {
  await page.focus(SEARCH);
  await page.evaluate(`globalThis.keyWaits = [];
    addEventListener("keydown", (event) => keyWaits.push(performance.now() - event.timeStamp),
      { capture: true })`);
  const end = Date.now() + 1_000 * seconds;
  for (let at = 0; Date.now() < end; at += 1) {
    await page.keyboard.press(at % 2 === 0 ? "x" : "Backspace");
    await page.waitForTimeout(KEY_PERIOD_MS);
  }
  return await page.evaluate<number[]>("keyWaits");
}

/** Milliseconds from a row's acknowledgement until the page has drawn it. */
async function shownMs(stack: Stack, page: Page, at: number): Promise<number> {
  const text = `marked row ${at} of this run`;
  if (!await stack.sendLogs([text], { commit: "wait_for" })) {
    throw new Error("the stack refused a marked row");
  }
  const start = performance.now();
  await page.getByText(text).first().waitFor({ timeout: SHOW_DEADLINE_MS });
  return performance.now() - start;
}
