/**
 * The page Logs in Chromium over a warm server. Time until rows and histogram are painted, beside
 * the server's own time for them; long tasks while one scrolls; bytes of the first load.
 */

import type { Page, Response } from "playwright-core";
import { launchChromium } from "../clients/chromium.ts";
import { buildPage } from "../web/page_lab.ts";
import { type Benchmark, type BenchRow, formatCount, formatMs, median } from "./benchmark.ts";
import { BenchServers } from "./bench_servers.ts";
import { COMMON, searchSource } from "./search_rows.ts";
import { buildTableOf, START_NS } from "./table_fixture.ts";

/** Where the page shows what, in one place: what changes below it is what a search shows. */
const PARTS = { rows: "main", histogram: ".histogram" } as const;
const SEARCH = "#search";
const ROW = ".row";
const ROUNDS = 8;
const WARM_ROUNDS = 3;
/** More than the server's own time. */
const PAINT_MS_MAX = { rows: 150, histogram: 250 } as const;
const TASK_MS_MAX = 50;
const SCROLLED_ROWS = 10_000;
const SCROLL_MS_MAX = 60_000;
const LOAD_BYTES_MAX = 200 * 1024;
/** Searches in turn, so that each shows other rows than the one before. */
const SEARCHES = [COMMON, "level:>=error OR request"] as const;

type Part = keyof typeof PARTS;
/** Milliseconds for each part. */
type Painted = Readonly<Record<Part, number>>;

interface Search {
  /** From Enter to the frame that shows it. */
  readonly painted: Painted;
  /** What the server took for its statement. */
  readonly server: Painted;
}

export const WEB: Benchmark = {
  name: "web",
  summary: "the page Logs in Chromium: paint, scrolling, first load",
  sizes: { small: { rows: 1_000_000, seconds: 0 }, full: { rows: 10_000_000, seconds: 0 } },
  async run({ rows }) {
    await buildPage();
    await using table = await buildTableOf(searchSource(rows), { rows });
    await using servers = await BenchServers.create("web");
    const { port } = await servers.startQuery(table.dir);
    const browser = await launchChromium();
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      const fromMs = Number(START_NS / 1_000_000n);
      const range = `${fromMs}..${fromMs + rows}`;
      await page.goto(`http://127.0.0.1:${port}/ui/?range=${range}`);
      await page.waitForSelector(ROW);
      const over = `${formatCount(rows)} rows, warm`;
      return [loadRow(await loadedBytes(page)), ...await paintRows(page, over), await scroll(page)];
    } finally {
      await browser.close();
    }
  },
};

/** Bytes that crossed for the document and all that it loaded. */
function loadedBytes(page: Page): Promise<number> {
  return page.evaluate<number>(`performance.getEntries()
    .filter(({ entryType, name }) => entryType === "navigation" || /\\/ui\\/[^/]*$/.test(name))
    .reduce((sum, { encodedBodySize = 0 }) => sum + encodedBodySize, 0)`);
}

function loadRow(bytes: number): BenchRow {
  return {
    what: "bytes of the first load, compressed",
    ours: formatCount(bytes),
    reference: "",
    ratio: "",
    target: `≤ ${formatCount(LOAD_BYTES_MAX)}`,
    reached: bytes <= LOAD_BYTES_MAX,
  };
}

async function paintRows(page: Page, over: string): Promise<BenchRow[]> {
  const searches: Search[] = [];
  for (let round = -WARM_ROUNDS; round < ROUNDS; round += 1) {
    const found = await searchOnce(page, SEARCHES[(round + WARM_ROUNDS) % SEARCHES.length] ?? "");
    if (round >= 0) searches.push(found);
  }
  return (["rows", "histogram"] as const).map((part) => {
    const ms = median(searches.map(({ painted }) => painted[part]));
    const serverMs = median(searches.map(({ server }) => server[part]));
    return {
      what: `Enter to ${part} painted, ${over}`,
      ours: formatMs(ms),
      reference: `the server's time for them ${formatMs(serverMs)}`,
      ratio: `${formatMs(ms - serverMs)} more`,
      target: `≤ ${PAINT_MS_MAX[part]} ms more`,
      reached: ms - serverMs <= PAINT_MS_MAX[part],
    };
  });
}

/** Types a search; the milliseconds from Enter until each part was painted anew. */
async function searchOnce(page: Page, text: string): Promise<Search> {
  const server = { rows: 0, histogram: 0 };
  const listen = (response: Response) => {
    if (!response.url().endsWith("/api/v1/sql")) return;
    const part = /GROUP BY/.test(response.request().postData() ?? "") ? "histogram" : "rows";
    server[part] = Number(response.headers()["x-svc-server-micros"]) / 1_000;
  };
  page.on("response", listen);
  await page.fill(SEARCH, text);
  const painted = page.evaluate<Painted>(`new Promise((done) => {
    const parts = ${JSON.stringify(PARTS)};
    const painted = {};
    let startMs;
    addEventListener("keydown", () => startMs = performance.now(), { once: true, capture: true });
    for (const [part, selector] of Object.entries(parts)) {
      const observer = new MutationObserver((changes) => {
        const isNew = changes.some(({ target, type }) => startMs !== undefined &&
          (type !== "attributes") && (part !== "rows" || !target.closest?.("form")));
        if (!isNew || part in painted) return;
        painted[part] = NaN;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => {
          painted[part] = performance.now() - startMs;
          if (Object.keys(parts).every((one) => painted[one] >= 0)) done(painted);
        }));
      });
      observer.observe(document.querySelector(selector),
        { childList: true, characterData: true, subtree: true });
    }
  })`);
  await page.press(SEARCH, "Enter");
  const found = await painted;
  await page.waitForLoadState("networkidle");
  page.off("response", listen);
  return { painted: found, server };
}

/** Scrolls on until so many rows were shown, and counts what kept the page from answering. */
async function scroll(page: Page): Promise<BenchRow> {
  await page.evaluate(`{
    globalThis.longTasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longTasks.push(duration);
    }).observe({ entryTypes: ["longtask"] });
  }`);
  const endMs = Date.now() + SCROLL_MS_MAX;
  let rows = 0;
  while (rows < SCROLLED_ROWS && Date.now() < endMs) {
    await page.mouse.move(640, 500);
    await page.mouse.wheel(0, 4_000);
    // Rows of 18 pixels: a list may hold only those that are seen.
    rows = await page.evaluate<number>(`(() => {
      let shown = document.querySelector("${ROW}");
      while (shown && shown.scrollHeight <= shown.clientHeight + 1) shown = shown.parentElement;
      shown ??= document.documentElement;
      return Math.round((shown.scrollTop + shown.clientHeight) / 18);
    })()`);
  }
  const tasks = await page.evaluate<number[]>("globalThis.longTasks");
  const longest = Math.max(0, ...tasks);
  return {
    what: `the longest task while ${formatCount(rows)} rows are scrolled through`,
    ours: formatMs(longest),
    reference: `${tasks.length} tasks over ${TASK_MS_MAX} ms`,
    ratio: "",
    target: `≤ ${TASK_MS_MAX} ms, ${formatCount(SCROLLED_ROWS)} rows`,
    reached: longest <= TASK_MS_MAX && rows >= SCROLLED_ROWS,
  };
}
