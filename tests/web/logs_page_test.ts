/**
 * The page Logs in a real browser, over a real query server: searches, pages of rows, and what the
 * address holds. No test may print an error to the browser's console or ask another host.
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { LINES, openLogsLab, queryOf, RANGE, rowsAre, searchFor, textsOf } from "./logs_lab.ts";
import { withPage } from "./page_lab.ts";

const NAME = "the page Logs in Chromium";
const OLDER_ROWS = 1_500;
/** Rows of one millisecond, across the end of the first page. */
const TIED_ROWS = 40;
const SCROLL_MS_MAX = 240_000;
/**
 * In the page: once all rows in view are drawn, places and texts of these; then scrolls on by less
 * than the view.
 */
const SEE_AND_SCROLL = `new Promise((done) => {
  const pane = document.querySelector(".rows-pane");
  const look = () => {
    const all = [...pane.querySelectorAll(".row")];
    const boxes = all.map((row) => row.getBoundingClientRect());
    const view = pane.getBoundingClientRect();
    const list = pane.querySelector(".rows").getBoundingClientRect();
    const isDrawn =
      Math.min(...boxes.map(({ top }) => top)) <= Math.max(view.top, list.top) + 1 &&
      Math.max(...boxes.map(({ bottom }) => bottom)) >= Math.min(view.bottom, list.bottom) - 1;
    if (!isDrawn) return requestAnimationFrame(look);
    done(all.map((row) => [row.getAttribute("aria-rowindex"), row.textContent]));
    pane.scrollBy(0, Math.min(400, view.height - 50));
  };
  look();
})`;

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLogsLab([[
      ...Array.from({ length: OLDER_ROWS }, (_, at) => ({
        ms: Math.floor(at / TIED_ROWS),
        raw: `older ${at}`,
      })),
      ...LINES,
    ]]);

    await t.step("/ leads a browser to the page, and the page to the newest rows", async () => {
      const home = await fetch(lab.url, { headers: { accept: "text/html" }, redirect: "manual" });
      strictEqual(home.headers.get("location"), "ui/");
      await home.body?.cancel();
      await withPage(lab, `?range=${RANGE}`, async (page) => {
        await page.waitForSelector(".row");
        const shown = await textsOf(page);
        deepStrictEqual(shown.slice(0, 4), LINES.map(({ raw }) => raw).toReversed());
        await page.waitForSelector(".bar.error");
        match(await page.textContent(".histogram figcaption") ?? "", /1,504 rows.*error 1/);
        match(await page.textContent(".cost") ?? "", /served by .* files .*histogram .* rows /);
      });
    });

    await t.step(
      "an address of no page shows this one, with the query that it has",
      () =>
        withPage(lab, `?range=${RANGE}&q=older`, async (page) => {
          await page.waitForSelector(".row");
          strictEqual(new URL(page.url()).pathname, "/ui/");
          strictEqual(queryOf(page).get("q"), "older");
          strictEqual(await page.inputValue("#search"), "older");
        }, { at: `${lab.url}/ui/logs` }),
    );

    await t.step(
      "a search finds rows by words, fields and levels, and back undoes it",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await page.waitForSelector(".row");
          await searchFor(page, "level:>=warn", 2);
          await searchFor(page, '"card declined" http.status_code:>=500', 1);
          strictEqual(queryOf(page).get("q"), '"card declined" http.status_code:>=500');
          deepStrictEqual(await page.locator(".row mark").allTextContents(), ["card declined"]);
          await page.goBack();
          await rowsAre(page, 2);
          strictEqual(await page.inputValue("#search"), "level:>=warn");
          await page.reload();
          await rowsAre(page, 2);
          await page.goForward();
          await rowsAre(page, 1);
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
          ok((await textsOf(page)).length > 0);
        }),
    );

    await t.step(
      "older rows come while one scrolls, each once, also those of one instant",
      () =>
        withPage(lab, `?range=${RANGE}&q=older`, async (page) => {
          await page.waitForSelector(".row");
          const seen = new Map<string, number>();
          const end = page.getByText("These are all rows.");
          const deadlineMs = performance.now() + SCROLL_MS_MAX;
          while (!(await end.isVisible()) || seen.size < OLDER_ROWS) {
            ok(performance.now() < deadlineMs, `all rows are seen: ${seen.size}`);
            const rows = await page.evaluate<readonly (readonly [string, string])[]>(
              SEE_AND_SCROLL,
            );
            for (const [place, text] of rows) {
              const found = /older \d+/.exec(text)?.[0];
              if (found !== undefined) seen.set(found, Number(place));
            }
          }
          const count = await page.getAttribute(".rows", "aria-rowcount");
          strictEqual(count, String(OLDER_ROWS), "every text was seen, so none is there twice");
          const instants = [...seen].toSorted(([, a], [, b]) => a - b)
            .map(([text]) => Math.floor(Number(text.slice("older ".length)) / TIED_ROWS));
          deepStrictEqual(instants, instants.toSorted((a, b) => b - a));
          ok(await page.locator(".row").count() < 120, "only rows in view are drawn");
        }),
    );

    await t.step(
      "a brush over the histogram searches that time, and a level of it filters",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await rowsAre(page, 100);
          await page.click(".legend .count.error");
          await rowsAre(page, 1);
          strictEqual(await page.inputValue("#search"), "level:error");
          await page.click(".legend .count.error");
          await rowsAre(page, 100);
          const box = await page.locator(".histogram svg").boundingBox();
          ok(box !== null);
          await page.mouse.move(box.x + box.width * 0.4, box.y + 20);
          await page.mouse.down();
          await page.mouse.move(box.x + box.width * 0.9, box.y + 20, { steps: 4 });
          await page.mouse.up();
          await rowsAre(page, LINES.length);
          match(queryOf(page).get("range") ?? "", /^17951\d+\.\.17951\d+$/);
          await page.goBack();
          await rowsAre(page, 100);
        }),
    );

    await t.step(
      "two tabs show their own searches",
      () =>
        withPage(lab, `?range=${RANGE}&q=cart`, async (page) => {
          await rowsAre(page, 2);
          await withPage(lab, `?range=${RANGE}&q=card`, async (other) => {
            await rowsAre(other, 1);
            await searchFor(other, "declined", 1);
          });
          strictEqual(await page.inputValue("#search"), "cart");
          await rowsAre(page, 2);
        }),
    );
  },
});
