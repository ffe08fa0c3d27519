/**
 * The page Logs in Chromium over a warm server. Time until rows and histogram are painted, beside
 * the server's own time for them; long tasks while one scrolls; bytes of the first load.
 */

import type { Browser, Page, Response } from "playwright-core";
import { launchChromium } from "../clients/chromium.ts";
import { buildPage } from "../web/page_lab.ts";
import { type Benchmark, type BenchRow, formatCount, formatMs, median } from "./benchmark.ts";
import { BenchServers } from "./bench_servers.ts";
import { COMMON, searchSource } from "./search_rows.ts";
import { buildTableOf, START_NS } from "./table_fixture.ts";

/** Where the page shows what, in one place: what changes below it is what a search shows. */
const PARTS = { rows: ".rows", histogram: ".histogram" } as const;
const SEARCH = "#search";
const PANE = ".rows-pane";
const ROW = ".row";
/** Has the pages' tasks, and nothing else: Chromium's default is hundreds of megabytes. */
const TRACED = ["-*", "disabled-by-default-devtools.timeline"];
/** The compactor leaves a table so. */
const ROWS_PER_FILE = 1_000_000;
const ATTRIBUTE_COLUMNS = 64;
const ROUNDS = 8;
const WARM_ROUNDS = 3;
/** More than the server's own time. */
const PAINT_MS_MAX = { rows: 150, histogram: 250 } as const;
const PAINT_MS_LONGEST = 60_000;
const TASK_MS_MAX = 50;
const SCROLLED_ROWS = 10_000;
const SCROLL_MS_MAX = 100_000;
const SCROLL_PX = 1_000;
/** A row of the compact list, which a new browser shows. */
const ROW_PX = 18;
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
    await using table = await buildTableOf(searchSource(rows), {
      ...{ rows, rowsPerFile: ROWS_PER_FILE, attributeColumnsMax: ATTRIBUTE_COLUMNS },
    });
    await using servers = await BenchServers.create("web");
    const { port } = await servers.startQuery(table.dir);
    const browser = await launchChromium();
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      const fromMs = Number(START_NS / 1_000_000n);
      const range = `${fromMs}..${fromMs + rows}`;
      await page.goto(`http://127.0.0.1:${port}/ui/?range=${range}`);
      await page.waitForSelector(ROW);
      // Until its first answer, another element keeps the histogram's place.
      await page.waitForSelector(`figure${PARTS.histogram}`, { timeout: PAINT_MS_LONGEST });
      const over = `${formatCount(rows)} rows, warm`;
      return [
        loadRow(await loadedBytes(page)),
        ...await paintRows(page, over),
        await scroll(browser, page),
      ];
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
  const painted = page.evaluate<Painted>(`new Promise((done, fail) => {
    setTimeout(() => fail(new Error("not painted within ${PAINT_MS_LONGEST} ms")), ${PAINT_MS_LONGEST});
    const parts = ${JSON.stringify(PARTS)};
    const painted = {};
    let startMs;
    addEventListener("keydown", () => startMs = performance.now(), { once: true, capture: true });
    for (const [part, selector] of Object.entries(parts)) {
      const observer = new MutationObserver((changes) => {
        const isNew = changes.some(({ type }) => startMs !== undefined &&
          type !== "attributes");
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

/**
 * Scrolls on until so many rows were shown, and counts what kept the page from answering. It goes
 * by the processor time of the main thread's tasks, since others work on the machine as well.
 */
async function scroll(browser: Browser, page: Page): Promise<BenchRow> {
  const endMs = Date.now() + SCROLL_MS_MAX;
  let rows = 0;
  // All rows: a search may find fewer than are to be scrolled.
  await searchOnce(page, "");
  await page.mouse.move(640, 500);
  await browser.startTracing(page, { categories: TRACED });
  while (rows < SCROLLED_ROWS && Date.now() < endMs) {
    await page.mouse.wheel(0, SCROLL_PX);
    await page.evaluate("new Promise(requestAnimationFrame)");
    rows = await page.evaluate<number>(`(() => {
      const pane = document.querySelector("${PANE}");
      return Math.round((pane.scrollTop + pane.clientHeight) / ${ROW_PX});
    })()`);
  }
  const tasks = mainThreadTasks(await browser.stopTracing());
  const longest = Math.max(0, ...tasks.map(({ cpuMs }) => cpuMs));
  const long = tasks.filter(({ cpuMs }) => cpuMs > TASK_MS_MAX);
  const slow = tasks.filter(({ wallMs }) => wallMs > TASK_MS_MAX);
  const slowest = Math.max(0, ...tasks.map(({ wallMs }) => wallMs));
  return {
    what: `the longest task while ${formatCount(rows)} rows are scrolled, processor time`,
    ours: formatMs(longest),
    reference: `${long.length} over ${TASK_MS_MAX} ms; by the clock ${slow.length}, the longest ${
      formatMs(slowest)
    }`,
    ratio: "",
    target: `≤ ${TASK_MS_MAX} ms, ${formatCount(SCROLLED_ROWS)} rows`,
    reached: longest <= TASK_MS_MAX && rows >= SCROLLED_ROWS,
  };
}

interface Task {
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** An event of Chromium's trace; times in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Tasks of the main threads of pages, of which only one is open. */
function mainThreadTasks(trace: Uint8Array): readonly Task[] {
  const { traceEvents }: { readonly traceEvents: readonly TraceEvent[] } = JSON.parse(
    new TextDecoder().decode(trace),
  );
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const mains = new Set(
    traceEvents.filter(({ name, args }) =>
      name === "thread_name" && args?.name === "CrRendererMain"
    ).map(threadOf),
  );
  return traceEvents
    .filter((event) => event.name === "RunTask" && mains.has(threadOf(event)))
    .map(({ dur = 0, tdur = 0 }) => ({ cpuMs: tdur / 1_000, wallMs: dur / 1_000 }));
}
