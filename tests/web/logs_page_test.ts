/**
 * The page Logs in a real browser, over a real query server: what a user sees, clicks and types. No
 * test may print an error to the browser's console or ask another host.
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { openPageLab, type PageLab, withPage } from "./page_lab.ts";

const NAME = "the page Logs in Chromium";
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const RANGE = "1795132800000..1795140000000";
const OLDER_ROWS = 250;

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
const ROWS = [
  ["card declined: insufficient funds", { severity_text: "ERROR", "http.status_code": 502 }],
  ["GET /cart 200 in 31 ms", { severity_text: "INFO", "user name": 'ann "a" lee' }],
  [`\x1b[31m${HOSTILE} \u202e end`, { severity_text: "WARN" }],
  ["GET /cart 200 in 32 ms", undefined],
] as const;

function openLab(): Promise<PageLab> {
  return openPageLab((lab) =>
    lab.commit([
      ...Array.from({ length: OLDER_ROWS }, (_, at) => ({
        ns: START_NS + BigInt(at) * 1_000_000n,
        raw: `older ${at}`,
      })),
      ...ROWS.map(([raw, attributes], at) => ({
        ns: START_NS + BigInt(3_600 + at) * 1_000_000_000n,
        raw,
        attributes: attributes === undefined ? null : JSON.stringify(attributes),
      })),
    ])
  );
}

const texts = (page: Page) => page.locator(".row .text").allTextContents();

/** Waits until so many rows are shown, and no search runs. */
async function rowsAre(page: Page, rows: number): Promise<void> {
  await page.locator(".row").nth(rows - 1).waitFor({ state: "attached" });
  await page.locator(".row").nth(rows).waitFor({ state: "detached" });
}

async function search(page: Page, text: string, rows: number): Promise<void> {
  await page.fill("#search", text);
  await page.keyboard.press("Enter");
  await rowsAre(page, rows);
}

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLab();

    await t.step("/ leads a browser to the page, and the page to the newest rows", async () => {
      const home = await fetch(lab.url, { headers: { accept: "text/html" }, redirect: "manual" });
      strictEqual(home.headers.get("location"), "ui/");
      await home.body?.cancel();
      await withPage(lab, `?range=${RANGE}`, async (page) => {
        await page.waitForSelector(".row");
        const shown = await texts(page);
        deepStrictEqual(shown.slice(0, 4), ROWS.map(([raw]) => raw).toReversed());
        await page.waitForSelector(".bar.error");
        match(await page.textContent(".histogram figcaption") ?? "", /254 rows/);
        match(await page.textContent(".cost") ?? "", /served by .* files/);
      });
    });

    await t.step(
      "a search finds rows by words, fields and levels, and back undoes it",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await page.waitForSelector(".row");
          await search(page, "level:>=warn", 2);
          await search(page, '"card declined" http.status_code:>=500', 1);
          match(page.url(), /q=%22card/);
          await page.goBack();
          await rowsAre(page, 2);
          strictEqual(await page.inputValue("#search"), "level:>=warn");
          await page.reload();
          await rowsAre(page, 2);
        }),
    );

    await t.step(
      "what is wrong with a search is told at its place, and the rows stay",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await page.waitForSelector(".row");
          await page.fill("#search", 'cart "b');
          await page.keyboard.press("Enter");
          await page.waitForSelector("#search-failure mark");
          strictEqual(await page.textContent("#search-failure mark"), '"b');
          ok((await texts(page)).length > 0);
        }),
    );

    await t.step(
      "a row opens to its fields, and a value filters in and out",
      () =>
        withPage(lab, `?range=${RANGE}&q=cart`, async (page) => {
          await rowsAre(page, 2);
          await page.click(".row:nth-child(2) .line");
          const field = page.locator(".fields tr", { hasText: "user name" });
          strictEqual(await field.locator("td").first().textContent(), 'ann "a" lee');
          await field.getByText("+ filter").click();
          await rowsAre(page, 1);
          strictEqual(
            await page.inputValue("#search"),
            String.raw`cart "user name":"ann \"a\" lee"`,
          );
        }),
    );

    await t.step(
      "hostile content is text",
      () =>
        withPage(lab, `?range=${RANGE}&q=onerror`, async (page) => {
          await page.waitForSelector(".row");
          deepStrictEqual(await texts(page), [ROWS[2][0]]);
          strictEqual(await page.title(), "Logs · svc");
          strictEqual(await page.locator(".row img, .row script").count(), 0);
        }),
    );

    await t.step(
      "older rows come while one scrolls, each once",
      () =>
        withPage(lab, `?range=${RANGE}&q=older`, async (page) => {
          await page.waitForSelector(".row");
          while (await page.locator(".row").count() < OLDER_ROWS) {
            const before = await page.locator(".row").count();
            await page.locator(".end").scrollIntoViewIfNeeded();
            await page.locator(".row").nth(before).waitFor({ state: "attached" });
          }
          const shown = await texts(page);
          deepStrictEqual(
            shown,
            Array.from({ length: OLDER_ROWS }, (_, at) => `older ${249 - at}`),
          );
          await page.waitForSelector("text=These are all rows.");
        }),
    );

    await t.step(
      "patterns count rows by shape, and lead to such rows",
      () =>
        withPage(lab, `?range=${RANGE}&view=patterns`, async (page) => {
          await page.waitForSelector(".patterns button");
          const rows = await page.locator(".patterns tbody tr").allInnerTexts();
          match(rows[0] ?? "", /^250\s+98\.4 %\s+older <\*>$/);
          await page.click("text=GET /cart <*> in <*> ms");
          await rowsAre(page, 2);
        }),
    );

    await t.step(
      "nothing found says why, and offers more",
      () =>
        withPage(lab, `?range=${RANGE}&q=absent`, async (page) => {
          await page.waitForSelector("text=No rows");
          await page.click("text=Search for everything");
          await page.waitForSelector(".row");
        }),
    );
  },
});
