/** Fields, completion and the first row of the page Logs in a real browser. */

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import { type LogLine, openLogsLab, queryOf, RANGE, rowsAre } from "./logs_lab.ts";
import { isTrueIn, withPage } from "./page_lab.ts";

const NAME = "fields of the page Logs in Chromium";

/** 40 rows: three of four of the shop, every second one with a status; carts in an object. */
const LINES: readonly LogLine[] = Array.from({ length: 40 }, (_, at) => ({
  ms: 1_000 * at,
  raw: `request ${at}`,
  host: `web-${at % 4}`,
  source: at % 4 === 0 ? "two words" : "shop",
  attributes: {
    severity_text: at % 10 === 0 ? "ERROR" : "INFO",
    ...at % 2 === 0 ? { "http.status_code": at % 8 === 0 ? 500 : 200 } : {},
    cart: { id: `c${at % 5}`, items: at % 3 },
  },
}));

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLogsLab([LINES]);

    await t.step(
      "the list has columns and attributes, and their top values with shares filter",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await rowsAre(page, 40);
          const list = page.getByRole("complementary", { name: "Fields" });
          const field = (name: string) => list.getByRole("button", { name, exact: true });
          await field("http.status_code").click();
          const values = list.getByRole("list", {
            name: "Most frequent values of http.status_code",
          });
          await values.locator("li").nth(1).waitFor();
          deepStrictEqual(
            (await values.locator("li").allInnerTexts()).map((text) => text.split("\n")),
            [["200", "75%", "−"], ["500", "25%", "−"]],
          );
          await expectAccessible(page);
          await values.getByText("500").click();
          await rowsAre(page, 5);
          strictEqual(await page.inputValue("#search"), "http.status_code:500");
          await values.getByText("100%").waitFor();
          await page.goBack();
          await rowsAre(page, 40);
          await page.getByRole("button", { name: "Only rows without http.status_code 200" })
            .click();
          await rowsAre(page, 25);
          await page.fill("#field-filter", "status");
          await field("host").waitFor({ state: "detached" });
          await page.getByRole("button", { name: "column http.status_code" }).click();
          deepStrictEqual(queryOf(page).getAll("column"), ["http.status_code"]);
        }),
    );

    await t.step(
      "top values stand below a field of an opened row",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await page.locator(".row .line").first().click();
          const row = page.locator(".fields tr", { has: page.locator('th:text-is("source")') });
          await row.getByText("top").click();
          const values = page.locator(".opened .top-values");
          await values.getByText("two words").click();
          await rowsAre(page, 10);
          strictEqual(await page.inputValue("#search"), 'source:"two words"');
        }),
    );

    await t.step(
      "a member within an object is listed, completed, filtered by and shown as a column",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await rowsAre(page, 40);
          const list = page.getByRole("complementary", { name: "Fields" });
          await list.getByRole("button", { name: "$.cart.id", exact: true }).click();
          await list.getByRole("list", { name: "Most frequent values of $.cart.id" })
            .getByText("c3").click();
          await rowsAre(page, 8);
          strictEqual(await page.inputValue("#search"), "$.cart.id:c3");
          await page.locator(".row .line").first().click();
          const member = page.locator(".fields tr", {
            has: page.locator('th:text-is("$.cart.items")'),
          });
          await member.getByText("+ filter").click();
          await rowsAre(page, 3);
          strictEqual(await page.inputValue("#search"), "$.cart.id:c3 $.cart.items:2");
          await page.fill("#search", "");
          await page.keyboard.type("cart.id");
          await page.getByRole("option", { name: "$.cart.id" }).click();
          strictEqual(await page.inputValue("#search"), "$.cart.id:");
        }),
    );

    await t.step(
      "f goes to the fields; on a narrow screen they lie over the rows and Esc folds them",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await page.setViewportSize({ width: 390, height: 844 });
          await page.reload();
          await rowsAre(page, 40);
          strictEqual(await page.locator(".field-list").count(), 0);
          await page.keyboard.press("f");
          await isTrueIn(page, 'document.activeElement?.id === "field-filter"');
          await page.getByRole("button", { name: "host", exact: true }).waitFor();
          await expectAccessible(page);
          await page.keyboard.press("Escape");
          await page.locator(".field-list").waitFor({ state: "detached" });
        }),
    );

    await t.step(
      "names and values are completed by keys and by the mouse",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await rowsAre(page, 40);
          await page.keyboard.press("/");
          await page.keyboard.type("status");
          const offers = page.getByRole("option");
          await offers.getByText("http.status_code").waitFor();
          strictEqual(await page.getAttribute("#search", "aria-expanded"), "true");
          await page.keyboard.press("ArrowDown");
          strictEqual(await page.getAttribute("#search", "aria-activedescendant"), "offer-0");
          await expectAccessible(page);
          await page.keyboard.press("Enter");
          await offers.getByText("500").waitFor();
          strictEqual(await page.inputValue("#search"), "http.status_code:");
          await page.keyboard.type("5");
          await offers.getByText("200").waitFor({ state: "detached" });
          await page.keyboard.press("Tab");
          strictEqual(await page.inputValue("#search"), "http.status_code:500");
          await page.keyboard.type(" service:two");
          await offers.getByText("two words").click();
          strictEqual(
            await page.inputValue("#search"),
            'http.status_code:500 service:"two words"',
          );
          await page.keyboard.press("Enter");
          await rowsAre(page, 5);
          await page.fill("#search", "");
          await page.keyboard.type("level:e");
          await offers.getByText("error").waitFor();
          await page.keyboard.press("Escape");
          await offers.first().waitFor({ state: "detached" });
          strictEqual(await page.inputValue("#search"), "level:e");
          await page.keyboard.type("rror");
          await page.keyboard.press("Enter");
          await rowsAre(page, 4);
        }),
    );

    await t.step(
      "completion in the middle of a search changes that word alone",
      () =>
        withPage(lab, `?range=${RANGE}&q=stat:500 request`, async (page) => {
          await isTrueIn(page, "!!document.querySelector('#search')?.value");
          await page.locator("#search").focus();
          await page.locator("#search").evaluate((input) =>
            (input as unknown as { setSelectionRange(start: number, end: number): void })
              .setSelectionRange(4, 4)
          );
          await page.keyboard.type("u");
          await page.getByRole("option", { name: "http.status_code" }).click();
          strictEqual(await page.inputValue("#search"), "http.status_code:500 request");
          match(
            await page.locator("#search").evaluate((input) =>
              String((input as unknown as { selectionStart: number }).selectionStart)
            ),
            /^17$/,
          );
        }),
    );
  },
});
