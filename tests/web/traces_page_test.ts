/**
 * The page Traces in a real browser, over a real query server: what a user sees, clicks and types.
 * No test may print an error to the browser's console or ask another host.
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import type { RowObject } from "../../shared/columns/rows.ts";
import { TRACES_SCHEMA } from "../../shared/schema/traces.ts";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { spanId, traceId } from "../tracing/trace_lab.ts";
import { expectAccessible } from "./axe.ts";
import { isTrueIn, openPageLab, type PageLab, withPage } from "./page_lab.ts";
import {
  HOSTILE,
  largeTrace,
  LOST,
  ORDER,
  ORDER_LOGS,
  plainTraces,
  RANGE,
  traceRows,
} from "./trace_rows.ts";

const NAME = "the page Traces in Chromium";
const PLAIN = 40;
const LARGE = 10_000;
const NARROW = { width: 390, height: 844 };
const ORDER_QUERY = `traces?range=${RANGE}&trace=${traceId(1)}`;
/** The span that failed, as a place in the address. */
const CARD = `&span=${spanId(100_003)}`;

function openLab(): Promise<PageLab> {
  return openPageLab(async (lab) => {
    const rows: RowObject[] = [
      ...traceRows(1, 0, ORDER),
      ...traceRows(2, 30, LOST),
      ...largeTrace(3, LARGE),
      ...plainTraces(10, PLAIN),
    ];
    rows.sort((a, b) =>
      Number(BigInt(a["timestamp_ns"] as bigint) - (b["timestamp_ns"] as bigint))
    );
    await lab.commitRows(rows, {
      ident: { namespace: "svc", name: "traces" },
      schema: TRACES_SCHEMA,
    });
    await lab.commit(ORDER_LOGS);
  });
}

/** Waits until so many traces are listed. */
async function tracesAre(page: Page, count: number): Promise<void> {
  await page.locator(".trace-list header strong", { hasText: new RegExp(`^${count}$`) }).waitFor();
  // The list draws its rows once it knows its height.
  await isTrueIn(page, `document.querySelectorAll(".trace-row").length === ${count}`);
}

async function submit(page: Page, field: string, text: string): Promise<void> {
  await page.fill(`#trace-${field}`, text);
  await page.keyboard.press("Enter");
}

const spanTexts = (page: Page) => page.locator(".span-row .names").allInnerTexts();

/** Each step has a page of its own. */
const STEPS: readonly {
  readonly name: string;
  readonly query: string;
  readonly test: (page: Page) => Promise<void>;
}[] = [
  {
    name: "an address of a trace without its id shows the results",
    query: `traces?range=${RANGE}&trace=`,
    test: async (page) => await tracesAre(page, PLAIN + 3),
  },
  {
    name: "a search by each condition finds its traces; back and reload show the same",
    query: `traces?range=${RANGE}`,
    async test(page) {
      await tracesAre(page, PLAIN + 3);
      await submit(page, "service", "checkout");
      await tracesAre(page, 1);
      await page.locator("#trace-operation-list option[value='charge card']").waitFor({
        state: "attached",
      });
      await submit(page, "operation", "charge card");
      await submit(page, "tags", '"user name"="ann \\"a\\" lee" http.status_code=502');
      await submit(page, "minDuration", "50ms");
      await tracesAre(page, 1);
      match(await page.innerText(".trace-row"), /frontend POST \/orders[\s\S]*1 error/);
      await submit(page, "maxDuration", "55ms");
      await page.waitForSelector("text=No traces");
      await page.goBack();
      await tracesAre(page, 1);
      strictEqual(await page.inputValue("#trace-maxDuration"), "");
      strictEqual(await page.inputValue("#trace-minDuration"), "50ms");
      await page.reload();
      await tracesAre(page, 1);
    },
  },
  {
    name: "errors only, and the order of the list",
    query: `traces?range=${RANGE}`,
    async test(page) {
      await tracesAre(page, PLAIN + 3);
      await page.click("text=Errors only");
      await tracesAre(page, PLAIN / 10 + 1);
      strictEqual(await page.inputValue("#trace-tags"), "error=true");
      await page.click("text=Errors only");
      await tracesAre(page, PLAIN + 3);
      await page.selectOption(".trace-list select", "longest");
      await page.locator(".trace-row").first().filter({ hasText: /batch\s+nightly run/ }).waitFor();
      match(page.url(), /order=longest/);
    },
  },
  {
    name: "what is wrong with a condition is told at its field, and the traces stay",
    query: `traces?range=${RANGE}`,
    async test(page) {
      await tracesAre(page, PLAIN + 3);
      await submit(page, "minDuration", "90");
      match(await page.innerText("#trace-minDuration-wrong"), /200ms, 1.5s or 1m30s/);
      strictEqual(await page.getAttribute("#trace-minDuration", "aria-invalid"), "true");
      await page.fill("#trace-minDuration", "");
      await submit(page, "tags", "error");
      match(await page.innerText("#trace-tags-wrong"), /key=value/);
      strictEqual(await page.locator(".trace-row").count(), PLAIN + 3);
    },
  },
  {
    name: "the picture opens the trace that is clicked, and dragging zooms to its time",
    query: `traces?range=${RANGE}&service=checkout`,
    async test(page) {
      await tracesAre(page, 1);
      const over = page.locator(".scatter .u-over");
      const box = await over.boundingBox();
      ok(box !== null);
      // The order is the only mark, at the left end: its place is told while the pointer is near.
      await findMark(page, box);
      match(await page.innerText(".scatter .told"), /frontend: POST \/orders · 400 ms · 6 spans/);
      await page.mouse.down();
      await page.mouse.up();
      await page.waitForSelector(".span-row");
      match(page.url(), new RegExp(`trace=${traceId(1)}`));
      await page.goBack();
      await tracesAre(page, 1);
      await over.waitFor();
      await page.mouse.move(box.x + 2, box.y + 40);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width / 4, box.y + 60, { steps: 4 });
      await page.mouse.up();
      await page.waitForURL(/range=17951328\d+\.\.179513[34]/);
      await tracesAre(page, 1);
    },
  },
  {
    name: "a trace shows its spans in order, its critical path, and what the selected span holds",
    query: `traces?range=${RANGE}`,
    async test(page) {
      await submit(page, "service", "checkout");
      await tracesAre(page, 1);
      await page.click(".trace-row");
      await page.waitForSelector(".span-row");
      deepStrictEqual((await spanTexts(page)).map((text) => text.replaceAll(/\s+/g, " ").trim()), [
        ...["▾ frontend POST /orders", "▾ frontend checkout", "▾ checkout POST /pay"],
        ...["checkout SELECT cart", "! Error checkout charge card", "mail send mail"],
      ]);
      match(await page.innerText(".span-panel"), /100 ms on the critical path/);
      strictEqual(
        await page.locator(".span-row", { hasText: "send mail" }).locator(".path").count(),
        0,
      );
      strictEqual(
        await page.locator(".span-row", { hasText: "charge" }).locator(".path").count(),
        1,
      );
      await page.locator(".span-row", { hasText: "charge card" }).click();
      const details = page.locator(".span-panel");
      match(await details.innerText(), /Error: card declined/);
      match(await details.innerText(), /60 ms, 60% of it/);
      match(await details.locator(".attributes").first().innerText(), /user name\s+ann "a" lee/);
      match(await details.locator(".events").innerText(), /40 ms retry\s+attempt\s+2/);
      match(page.url(), new RegExp(CARD));
      await page.reload();
      await page.waitForSelector(".error-text");
      await details.getByText(traceId(2)).click();
      await page.waitForSelector("text=1 without their parent");
      await page.goBack();
      await page.waitForSelector(".error-text");
      await page.locator("tr", { hasText: "http.status_code" }).getByText("traces").click();
      await tracesAre(page, 1);
      strictEqual(await page.inputValue("#trace-tags"), "http.status_code=502");
    },
  },
  {
    name: "clocks that differ are adjusted, and shown as they were sent when asked",
    query: ORDER_QUERY + CARD,
    async test(page) {
      await page.waitForSelector("text=Clocks adjusted: 1 moved");
      match(await page.innerText(".figures"), /Begins at\s+20 ms[\s\S]*Moved by\s+-190 ms/);
      await page.click("text=Clocks adjusted");
      match(await page.innerText(".figures"), /Begins at\s+210 ms/);
      await page.reload();
      await page.waitForSelector("text=Times as they were sent");
      match(await page.innerText(".figures"), /Begins at\s+210 ms/);
    },
  },
  {
    name: "the trace's logs stand beside its spans, and lead to the page Logs and back",
    query: ORDER_QUERY,
    async test(page) {
      await page.locator(".span-row", { hasText: "charge card" }).locator(".log").nth(1).waitFor();
      await page.click("text=Logs (3)");
      deepStrictEqual(
        await page.locator(".trace-logs .text").allTextContents(),
        ORDER_LOGS.map(({ raw }) => raw),
      );
      await page.locator(".trace-logs li").nth(1).getByRole("button").click();
      strictEqual(await page.locator(".trace-logs [data-selected=true]").count(), 2);
      strictEqual(await page.getAttribute(".span-row[aria-selected=true]", "aria-level"), "4");
      await page.click("text=Open in Logs");
      await page.locator(".row .text", { hasText: "order received" }).waitFor();
      strictEqual(await page.inputValue("#search"), `trace_id:${traceId(1)}`);
      await page.goBack();
      await page.waitForSelector(".trace-logs");
    },
  },
  {
    name: "spans fold, are found, and are reached by keys",
    query: ORDER_QUERY,
    async test(page) {
      await page.waitForSelector(".span-row");
      await page.locator(".span-row", { hasText: "POST /pay" }).locator(".fold").click();
      strictEqual(await page.locator(".span-row").count(), 4);
      await page.keyboard.press("/");
      await page.keyboard.type("ann");
      await page.keyboard.press("Enter");
      strictEqual(await page.innerText(".found"), "1 of 1");
      strictEqual(await page.locator(".span-row").count(), 6);
      await page.keyboard.press("Escape");
      await page.keyboard.press("k");
      match(await page.innerText(".span-panel h2"), /SELECT cart/);
      await page.locator(".spans").focus();
      for (const key of ["ArrowLeft", "ArrowLeft", "ArrowDown"]) await page.keyboard.press(key);
      match(await page.innerText(".span-panel h2"), /send mail/);
      await page.click("text=Open all");
      await page.click("text=Close all");
      strictEqual(await page.locator(".span-row").count(), 3);
      await page.locator("h2").first().click();
      await page.keyboard.press("Escape");
      await page.waitForSelector("text=Where the time went");
      await page.keyboard.press("Escape");
      await page.waitForSelector(".trace-list");
    },
  },
  {
    name: "time zooms and moves by dragging, keys and wheel",
    query: ORDER_QUERY,
    async test(page) {
      await page.waitForSelector(".span-row");
      const box = await page.locator(".minimap").boundingBox();
      ok(box !== null);
      await page.mouse.move(box.x, box.y + 10);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width / 4, box.y + 20, { steps: 3 });
      await page.mouse.up();
      const ruler = async () => (await page.innerText(".ruler .ticks")).split(/\n|\s{2,}/);
      deepStrictEqual([(await ruler()).at(0), (await ruler()).at(-1)], ["0 ms", "100 ms"]);
      match(page.url(), /zoom=0\.\.100000000/);
      await page.keyboard.press("+");
      deepStrictEqual([(await ruler()).at(0), (await ruler()).at(-1)], ["25 ms", "75 ms"]);
      await page.keyboard.press("ArrowRight");
      deepStrictEqual((await ruler()).at(0), "38 ms");
      await page.reload();
      await page.waitForSelector(".span-row");
      deepStrictEqual((await ruler()).at(0), "38 ms");
      await page.mouse.move(box.x + box.width / 2, box.y + 150);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, 400);
      await page.keyboard.up("Control");
      await page.waitForURL((url) => !url.href.includes("zoom=37"));
      await page.click("text=Whole trace");
      deepStrictEqual((await ruler()).at(-1), "400 ms");
    },
  },
  {
    name: "ten thousand spans are few elements, and each is reached",
    query: `traces?range=${RANGE}&trace=${traceId(3)}`,
    async test(page) {
      await page.waitForSelector("text=10,000 spans");
      ok(await page.locator(".span-row").count() < 100);
      await page.locator(".spans").focus();
      await page.keyboard.press("End");
      await page.waitForSelector(`#span-${LARGE - 1}[aria-selected=true]`);
      ok(await page.locator(".span-row").count() < 100);
      await page.keyboard.press("Home");
      await page.fill("#find-span", "put object 77");
      await page.waitForSelector("text=100 found");
      await page.keyboard.press("Enter");
      match(await page.innerText(".span-panel h2"), /store put object 77/);
    },
  },
  {
    name: "hostile names are text",
    query: `traces?range=${RANGE}&trace=${traceId(2)}`,
    async test(page) {
      await page.locator(".span-row").first().click();
      strictEqual(await page.locator(".span-row .name").first().textContent(), HOSTILE);
      strictEqual(await page.locator("main img, main script").count(), 0);
      await page.goto(page.url().replace(/traces\?.*/, ORDER_QUERY + CARD));
      await page.locator(".attributes td", { hasText: "onerror" }).first().waitFor();
      strictEqual(await page.locator("main img").count(), 0);
      strictEqual(await page.title(), "Traces · svc");
    },
  },
  {
    name: "the service graph shows who calls whom, and leads to a service's traces",
    query: `traces?range=${RANGE}`,
    async test(page) {
      const edge = await page.locator(".trace-search .field").first().boundingBox();
      strictEqual((await page.getByRole("button", { name: "Traces" }).boundingBox())?.x, edge?.x);
      await page.click("text=Service graph");
      await page.waitForSelector(".service-box");
      match(await page.innerText(".service-box:has-text('checkout')"), /3 spans[\s\S]*33% errors/);
      await page.click(".service-graph summary");
      match(await page.innerText(".service-graph table"), /frontend\s+cart\s+40/);
      await page.reload();
      await page.click(".service-box:has-text('checkout')");
      await tracesAre(page, 1);
      await page.goBack();
      await page.waitForSelector(".service-box");
    },
  },
  {
    name: "nothing found says why; a trace that is not there says so",
    query: "traces?service=absent",
    async test(page) {
      await page.waitForSelector("text=No traces");
      await page.waitForSelector("text=OTEL_EXPORTER_OTLP_ENDPOINT");
      await page.click("text=Look at 30 days");
      await page.waitForURL(/range=43200m/);
      await page.click("text=Search for every trace");
      await page.waitForURL((url) => !url.href.includes("absent"));
    },
  },
];

/** Moves the pointer over the picture's left end until a mark is told. */
async function findMark(
  page: Page,
  { x, y, height }: { readonly x: number; readonly y: number; readonly height: number },
): Promise<void> {
  for (let down = 4; down < height; down += 8) {
    await page.mouse.move(x + 3, y + down);
    if (/spans/.test(await page.innerText(".scatter .told"))) return;
  }
}

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLab();
    for (const { name, query, test } of STEPS) {
      await t.step(name, () => withPage(lab, query, test));
    }

    const SHOWN = [
      [`traces?range=${RANGE}`, ".trace-row"],
      [`traces?range=${RANGE}&view=graph`, ".service-box"],
      [ORDER_QUERY + CARD, ".error-text"],
      [`${ORDER_QUERY + CARD}&panel=logs`, ".trace-logs"],
    ] as const;
    for (const [query, selector] of SHOWN) {
      await t.step(
        `${query} is accessible in both themes, and fits 390 pixels`,
        () =>
          withPage(lab, query, async (page) => {
            await page.waitForSelector(selector);
            await expectAccessible(page);
            await page.setViewportSize(NARROW);
            const width = await page.evaluate("document.documentElement.scrollWidth");
            strictEqual(width, NARROW.width);
            await expectAccessible(page);
          }),
      );
    }
  },
});
