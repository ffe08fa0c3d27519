/** Rows for the tests of the page Logs, and what its users do. */

import { strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { ONE_DUCKDB } from "../../shared/testing/one_duckdb.ts";
import { launchForPages } from "../clients/chromium.ts";
import { buildPage, openPageLab, type PageLab } from "./page_lab.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

/** 2026-11-20T00:00:00Z, and the range of the page that has all rows. */
export const START_MS = 1_795_132_800_000;
export const RANGE = `${START_MS}..${START_MS + 7_200_000}`;

export interface LogLine {
  /** Milliseconds after `START_MS`. */
  readonly ms: number;
  readonly raw: string;
  readonly host?: string;
  readonly source?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
const TRACE_ID = "5b8efff798038103d269b633813fc60c";

/** Lines that most tests search, the oldest first. */
export const LINES: readonly LogLine[] = [
  {
    ms: 3_600_000,
    raw: "card declined: insufficient funds",
    source: "checkout",
    attributes: { severity_text: "ERROR", "http.status_code": 502, trace_id: TRACE_ID },
  },
  {
    ms: 3_601_000,
    raw: "GET /cart 200 in 31 ms",
    source: "frontend",
    attributes: { severity_text: "INFO", "user name": 'ann "a" lee' },
  },
  {
    ms: 3_602_000,
    raw: `\x1b[31m${HOSTILE} \u202e end`,
    source: "frontend",
    attributes: { severity_text: "WARN" },
  },
  { ms: 3_603_000, raw: "GET /cart 200 in 32 ms", source: "frontend" },
];

/** A server over rows of `events`: the lines of each day are a file. */
export function openLogsLab(
  days: readonly (readonly LogLine[])[],
  args: readonly string[] = [],
): Promise<PageLab> {
  return openPageLab(async (lab) => {
    for (const lines of days) await commitLines(lab, lines);
  }, args);
}

async function commitLines(lab: WarehouseLab, lines: readonly LogLine[]): Promise<void> {
  await lab.commitRows(lines.map(rowOf), {
    ident: { namespace: "svc", name: "events" },
    schema: EVENTS_SCHEMA,
  });
}

function rowOf({ ms, raw, host = "h", source = "s", attributes }: LogLine) {
  const ns = BigInt(START_MS + ms) * 1_000_000n;
  return {
    ...{ timestamp: ns / 1_000n, timestamp_ns: ns, host, source, sourcetype: "t", index: "main" },
    raw,
    attributes: attributes === undefined ? null : JSON.stringify(attributes),
  };
}

/** The texts of the rows in view, the newest first. */
export function textsOf(page: Page): Promise<string[]> {
  return page.locator(".row .text").allTextContents();
}

/** Waits until so many rows are found, of which the newest are drawn. */
export async function rowsAre(page: Page, rows: number): Promise<void> {
  await page.locator(`.rows[aria-rowcount="${rows}"] .row`).first().waitFor({ state: "attached" });
}

/** Types a search, and waits until it has so many rows. */
export async function searchFor(page: Page, text: string, rows: number): Promise<void> {
  await page.fill("#search", text);
  await page.keyboard.press("Enter");
  await rowsAre(page, rows);
}

/** The query of the address. */
export function queryOf(page: Page): URLSearchParams {
  return new URL(page.url()).searchParams;
}

/** In the page: resolves once a button says that it copied. */
const COPIED = `new Promise((done) => {
  const look = () => {
    const all = [...document.querySelectorAll("button [aria-live]")];
    if (all.some((one) => one.textContent === "copied")) done();
    else requestAnimationFrame(look);
  };
  look();
})`;

/** What the clipboard has, after the page copied. */
export async function copiedText(page: Page, copy: () => Promise<void>): Promise<string> {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  // The page says so for a moment alone, which only the page itself is sure to see.
  await Promise.all([page.evaluate(COPIED), copy()]);
  return await page.evaluate("navigator.clipboard.readText()") as string;
}

/** Nobody runs a script of a row, and nothing else of it is markup. */
export async function expectTextOnly(page: Page): Promise<void> {
  strictEqual(await page.title(), "Logs · svc");
  const markup = ":is(.row, .opened, .value-dialog, .patterns) :is(img, script)";
  strictEqual(await page.locator(markup).count(), 0);
}

/** A server that reads the WAL, and rows that come while a page is open. */
export interface LiveLab extends AsyncDisposable, Pick<PageLab, "url" | "browser"> {
  /** Rows of now, each a millisecond after the one before; they are durable. */
  append(texts: readonly string[]): Promise<void>;
}

/** Opens it without rows. */
export async function openLiveLab(): Promise<LiveLab> {
  await buildPage();
  await using held = new AsyncDisposableStack();
  const lab = held.use(await WarehouseLab.open({ wal: true }));
  const server = held.use(
    await startQuery(
      parseOptions(OPTIONS, [
        ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
        ...["--data-dir", lab.dir, "--query-wal-buffer-dir", `${lab.dir}/wal`, "--threads", "2"],
        ...ONE_DUCKDB,
      ]),
      IN_THIS_PROCESS,
    ),
  );
  const browser = await launchForPages();
  held.defer(() => browser.close());
  const all = held.move();
  let lastMs = 0;
  return {
    url: `http://127.0.0.1:${server.address.port}`,
    browser,
    append: async (texts) => {
      const firstMs = Math.max(lastMs + 1, Date.now() - texts.length);
      lastMs = firstMs + texts.length;
      await lab.append(texts.map((raw, at) => ({ ns: BigInt(firstMs + at) * 1_000_000n, raw })));
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
