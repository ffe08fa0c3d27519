/** Times, patterns, downloads, plans and empty answers of the page Logs in a real browser. */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import {
  copiedText,
  LINES,
  type LogLine,
  openLogsLab,
  queryOf,
  RANGE,
  rowsAre,
  searchFor,
  START_MS,
} from "./logs_lab.ts";
import { withPage } from "./page_lab.ts";

const NAME = "views of the page Logs in Chromium";
const DAY_MS = 86_400_000;
const OLDER_ROWS = 250;

/** Rows of many shapes: one of them came yesterday, too. The hostile line also has U+0000. */
const SHAPES: readonly LogLine[] = [
  ...Array.from({ length: OLDER_ROWS }, (_, at) => ({ ms: 10 * at, raw: `older ${at}` })),
  ...LINES.map((line) => ({ ...line, raw: line.raw.replace("\u202e end", "\u202e \0end") })),
];
const YESTERDAY: readonly LogLine[] = [{ ms: -DAY_MS, raw: "older 17" }];

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLogsLab([YESTERDAY, SHAPES]);

    await t.step(
      "a time is typed as people say it, and back undoes it",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await rowsAre(page, 100);
          await page.keyboard.press("t");
          await page.keyboard.type("2026-11-20 00:59:59 .. 2026-11-20 01:00:02.5");
          await page.keyboard.press("Enter");
          await rowsAre(page, 3);
          strictEqual(
            queryOf(page).get("range"),
            `${START_MS + 3_599_000}..${START_MS + 3_602_500}`,
          );
          match(await page.textContent("#time") ?? "", /^2026-11-20 00:59:59 \.\. 01:00:02\.500/);
          await page.click("#time");
          await page.getByLabel("Type a time").fill("next year");
          await page.keyboard.press("Enter");
          await page.getByText("That is no time.").waitFor();
          await page.getByLabel("Type a time").fill("last 2h");
          await page.keyboard.press("Enter");
          await page.getByText("Last 2 h").waitFor();
          strictEqual(queryOf(page).get("range"), "120m");
          await page.goBack();
          await rowsAre(page, 3);
        }),
    );

    await t.step(
      "times are shown in the chosen zone, and a link keeps it",
      () =>
        withPage(lab, `?range=${RANGE}&q=declined`, async (page) => {
          // The browser of the tests is in UTC; this one is not.
          const context = await lab.browser.newContext({ timezoneId: "Asia/Kolkata" });
          const other = await context.newPage();
          await other.goto(page.url());
          await rowsAre(other, 1);
          match(await other.textContent(".row .time") ?? "", /^2026-11-2006:30:00\.000$/);
          await other.click("#time");
          await other.getByLabel("UTC").check();
          await other.keyboard.press("Escape");
          match(await other.textContent(".row .time") ?? "", /^2026-11-2001:00:00\.000$/);
          await other.reload();
          await rowsAre(other, 1);
          match(await other.textContent(".row .time") ?? "", /^2026-11-2001:00:00\.000$/);
          await context.close();
        }),
    );

    await t.step(
      "a link has the times that are shown, or the span",
      () =>
        withPage(lab, "?range=15m&q=x", async (page) => {
          await page.getByRole("heading", { name: "No rows" }).waitFor();
          const copy = async (name: string) => {
            const link = await copiedText(page, async () => {
              await page.getByRole("button", { name: /^link/ }).click();
              await page.getByRole("button", { name }).click();
            });
            await page.keyboard.press("Escape");
            await page.getByText("copied").waitFor({ state: "detached" });
            return new URL(link).searchParams.get("range");
          };
          match(await copy("copy link to this time") ?? "", /^\d{13}\.\.\d{13}$/);
          strictEqual(await copy("copy link to the newest rows"), "15m");
        }),
    );

    await t.step(
      "patterns count rows by shape, mark those since yesterday, and lead to their rows",
      () =>
        withPage(lab, `?range=${RANGE}&view=patterns`, async (page) => {
          await page.waitForSelector(".new-mark");
          const rows = await page.locator(".patterns tbody tr").allInnerTexts();
          match(rows[0] ?? "", /^250\s+98%\s+older <\*>\s+− filter\s+older \d+$/);
          const isNew = (shape: string) =>
            page.locator(".patterns tr", { hasText: shape }).locator(".new-mark").count();
          deepStrictEqual([await isNew("older"), await isNew("card")], [0, 1]);
          strictEqual(await page.locator(".spark path").first().getAttribute("d") === "", false);
          await page.getByLabel("new since yesterday (3)").check();
          strictEqual(await page.locator(".patterns tbody tr").count(), 3);
          await page.fill("#pattern-filter", "cart");
          strictEqual(await page.locator(".patterns tbody tr").count(), 1);
          await page.getByText("GET /cart <*> in <*> ms").click();
          await rowsAre(page, 2);
          await page.goBack();
          await page.locator(".patterns tbody tr").nth(3).waitFor();
          await page.locator(".patterns tr", { hasText: "older" }).getByText("− filter").click();
          await page.locator(".patterns tbody tr").nth(3).waitFor({ state: "detached" });
          strictEqual(await page.inputValue("#search"), '-("older")');
        }),
    );

    await t.step(
      "a download has all rows of the search",
      () =>
        withPage(lab, `?range=${RANGE}&q=older`, async (page) => {
          await rowsAre(page, 100);
          for (const [label, ending] of [["CSV", "csv"], ["NDJSON", "ndjson"]] as const) {
            const saved = page.waitForEvent("download");
            await page.getByRole("button", { name: "download" }).click();
            await page.getByRole("button", { name: label, exact: true }).click();
            const file = await saved;
            match(file.suggestedFilename(), new RegExp(`^events-2026.*Z\\.${ending}$`));
            const text = await Deno.readTextFile(await file.path());
            strictEqual(text.match(/older \d+/g)?.length, OLDER_ROWS);
          }
        }),
    );

    await t.step(
      "Stop ends what runs, and what was shown stays",
      () =>
        withPage(lab, `?range=${RANGE}&q=cart`, async (page) => {
          await rowsAre(page, 2);
          const held = Promise.withResolvers<void>();
          await page.route("**/api/v1/sql", () => held.promise);
          const ended = page.waitForEvent("requestfailed");
          await page.fill("#search", "card");
          await page.keyboard.press("Enter");
          await page.getByRole("button", { name: "Stop" }).click();
          match((await ended).failure()?.errorText ?? "", /ABORTED/);
          await page.getByRole("button", { name: "Search", exact: true }).waitFor();
          await rowsAre(page, 2);
          held.resolve();
          await page.unroute("**/api/v1/sql");
          await searchFor(page, "card", 1);
        }),
    );

    await t.step(
      "the cost of an answer explains its plan",
      () =>
        withPage(lab, `?range=${RANGE}&q=cart`, async (page) => {
          await rowsAre(page, 2);
          await page.getByRole("button", { name: "explain" }).click();
          const dialog = page.getByRole("dialog", { name: "How the rows are found" });
          await dialog.getByText(/served by scan/).waitFor();
          match(await dialog.textContent() ?? "", /match_phrase\("raw", 'cart'\)/);
          await expectAccessible(page, { within: ".plan-dialog" });
          await page.keyboard.press("Escape");
          await dialog.waitFor({ state: "hidden" });
        }),
    );

    await t.step(
      "an empty answer leads to the nearest rows",
      () =>
        withPage(lab, `?range=${START_MS + DAY_MS}..${START_MS + 2 * DAY_MS}`, async (page) => {
          await page.getByText("The nearest rows are of 2026-11-20 01:00:03").waitFor();
          await expectAccessible(page);
          await page.getByRole("button", { name: "Go there" }).click();
          await rowsAre(page, LINES.length);
          await page.goBack();
          await page.getByText("The nearest rows are of").waitFor();
        }),
    );

    await t.step(
      "an empty answer tells the name that was meant",
      () =>
        withPage(lab, `?range=${RANGE}&q=cart OR http.status:502`, async (page) => {
          await rowsAre(page, 2);
          await page.fill("#search", "http.status:502 -none");
          await page.keyboard.press("Enter");
          await page.getByRole("button", { name: "http.status_code" }).click();
          await rowsAre(page, 1);
          strictEqual(await page.inputValue("#search"), "http.status_code:502 -none");
        }),
    );

    await t.step(
      "nothing breaks a rule of accessibility, wide and at 390 px",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await page.locator(".row .line").first().click();
          await page.getByRole("button", { name: "context" }).click();
          await page.locator(".context-row").nth(1).waitFor();
          await expectAccessible(page);
          await page.setViewportSize({ width: 390, height: 844 });
          await expectAccessible(page);
          const widest = await page.evaluate("document.documentElement.scrollWidth");
          strictEqual(widest, 390);
          await page.click("#time");
          await page.getByLabel("Type a time").waitFor();
          const panel = await page.locator(".time-panel").boundingBox();
          ok(panel !== null && panel.x >= 0 && panel.x + panel.width <= 390);
          await expectAccessible(page);
          await page.keyboard.press("Escape");
          await page.getByRole("button", { name: "Patterns" }).click();
          await page.waitForSelector(".pattern-text");
          await expectAccessible(page);
          await page.setViewportSize({ width: 1280, height: 800 });
          await expectAccessible(page);
        }),
    );
  },
});
