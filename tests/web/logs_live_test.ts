/** Live rows of the page Logs in a real browser, over a server that reads the WAL. */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import { openLiveLab, queryOf, searchFor, textsOf } from "./logs_lab.ts";
import { isTrueIn, PAINTED, withPage } from "./page_lab.ts";

const NAME = "live rows of the page Logs in Chromium";
const FLOOD_ROWS = 20_000;
const FLOOD_BATCH_ROWS = 1_000;

const isShown = (page: Page, text: string) =>
  page.locator(".row", { hasText: text }).first().waitFor();
const pill = (page: Page) => page.locator(".pending-pill");

/** Returns once the page follows live rows. */
async function isConnected(page: Page): Promise<void> {
  // Without the switch nothing says that it is not connected yet.
  await page.locator("#live[aria-pressed=true]").waitFor();
  await page.getByText("connecting…").waitFor({ state: "detached" });
}

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLiveLab();

    await t.step(
      "without a row the page says how to send one, and fills by itself",
      () =>
        withPage(lab, "", async (page) => {
          await page.getByRole("heading", { name: "Nothing was sent yet" }).waitFor();
          match(await page.textContent(".first-log pre") ?? "", /curl http:\/\/127\.0\.0\.1:8088/);
          await page.getByRole("button", { name: "Collector" }).click();
          match(await page.textContent(".first-log pre") ?? "", /endpoint: http:\/\/127\.0\.0\.1/);
          await page.getByRole("button", { name: "SDK variables" }).click();
          match(await page.textContent(".first-log pre") ?? "", /OTEL_EXPORTER_OTLP_ENDPOINT=http/);
          await expectAccessible(page);
          await lab.append(["the very first"]);
          await isShown(page, "the very first");
        }),
    );

    await t.step(
      "new rows come by themselves, each once, also after a reload",
      () =>
        withPage(lab, "", async (page) => {
          await isShown(page, "the very first");
          await page.getByRole("button", { name: "Live" }).click();
          await isConnected(page);
          strictEqual(queryOf(page).get("live"), "1");
          for (const text of ["live 1", "live 2", "live 3"]) {
            await lab.append([text]);
            await isShown(page, text);
          }
          await page.reload();
          await isConnected(page);
          await lab.append(["live 4"]);
          await isShown(page, "live 4");
          deepStrictEqual(await textsOf(page), [
            ...["live 4", "live 3", "live 2", "live 1"],
            "the very first",
          ]);
        }),
    );

    await t.step(
      "only rows that the search finds come",
      () =>
        withPage(lab, "?q=wanted&live=1", async (page) => {
          await isConnected(page);
          await lab.append(["other", "a wanted row", "other again"]);
          await isShown(page, "a wanted row");
          deepStrictEqual(await textsOf(page), ["a wanted row"]);
        }),
    );

    await t.step(
      "nothing moves what is read: new rows wait once one scrolled away, or has a row open",
      () =>
        withPage(lab, "?live=1", async (page) => {
          await isConnected(page);
          await lab.append(Array.from({ length: 80 }, (_, at) => `filler ${at}`));
          await isTrueIn(page, "Number(document.querySelector('.rows')?.ariaRowCount) >= 80");
          const scrolled = await page.locator(".rows-pane").evaluate((pane) => {
            pane.scrollBy(0, 300);
            return pane.scrollTop;
          });
          strictEqual(scrolled, 300);
          const watched = page.locator(".row", { hasText: "filler 50" });
          await page.evaluate(PAINTED);
          const before = await watched.boundingBox();
          await lab.append(["late 1", "late 2"]);
          await pill(page).getByText("2 new").waitFor();
          await lab.append(["late 3"]);
          await pill(page).getByText("3 new").waitFor();
          deepStrictEqual(await watched.boundingBox(), before);
          await pill(page).click();
          await isShown(page, "late 3");
          strictEqual((await textsOf(page))[0], "late 3");
          await page.locator(".row .line").nth(2).click();
          const open = await page.locator('.row[data-open="true"]').boundingBox();
          await lab.append(["later"]);
          await pill(page).getByText("1 new").waitFor();
          deepStrictEqual(await page.locator('.row[data-open="true"]').boundingBox(), open);
          await expectAccessible(page);
          await pill(page).click();
          await isShown(page, "later");
        }),
    );

    await t.step(
      "p lets new rows wait, and shows them again",
      () =>
        withPage(lab, "?live=1", async (page) => {
          await isConnected(page);
          await isShown(page, "later");
          await page.keyboard.press("p");
          await lab.append(["while paused"]);
          await pill(page).getByText("1 new").waitFor();
          strictEqual((await textsOf(page))[0], "later");
          await page.keyboard.press("p");
          await isShown(page, "while paused");
          await page.keyboard.press("l");
          await isTrueIn(page, "!location.search.includes('live')");
        }),
    );

    await t.step(
      "a tail that falls silent is connected anew, and goes on where it was",
      () =>
        withPage(lab, "", async (page) => {
          await page.clock.install();
          await page.goto(`${lab.url}/ui/?live=1`);
          await isConnected(page);
          await lab.append(["before the silence"]);
          await isShown(page, "before the silence");
          const [again] = await Promise.all([
            page.waitForRequest("**/api/v1/tail?*"),
            page.clock.fastForward(46_000),
          ]);
          ok((await again.allHeaders())["last-event-id"]);
          await isConnected(page);
          await lab.append(["after the silence"]);
          await isShown(page, "after the silence");
        }),
    );

    await t.step(
      "thousands of rows a second leave the page usable, and it says how many it skipped",
      () =>
        withPage(lab, "?live=1", async (page) => {
          await isConnected(page);
          for (let at = 0; at < FLOOD_ROWS; at += FLOOD_BATCH_ROWS) {
            await lab.append(
              Array.from({ length: FLOOD_BATCH_ROWS }, (_, i) => `flood ${at + i} of many`),
            );
          }
          await page.getByText(/[\d,]+ skipped, too many to show/).waitFor();
          await isShown(page, "flood");
          ok(await page.locator(".row").count() < 200, "only rows in view are drawn");
          await searchFor(page, `"flood ${FLOOD_ROWS - 1}"`, 1);
          strictEqual(queryOf(page).get("live"), "1");
        }),
    );
  },
});
